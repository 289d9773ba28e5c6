/** How much memory a call holds at most, without that of the programs it starts. */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { compile, type Measurement, measure } from "./cni-timer.ts";

const CALLS = 5;

/** The peak of several calls in MB, by side; of whichever call had the most. */
export async function peakMemory(
  timer: string,
  what: Pick<Measurement, "command" | "configFile" | "cniPath">,
  executables: Readonly<Record<string, string>>,
  env: NodeJS.ProcessEnv,
): Promise<Record<string, number>> {
  const meter = await compile("peak-memory", env);
  const directory = await mkdtemp(path.join(tmpdir(), "cni-memory-"));
  try {
    const metered: Record<string, string> = {};
    const notes: Record<string, string> = {};
    for (const [side, executable] of Object.entries(executables)) {
      const [script, note] = [path.join(directory, side), path.join(directory, `${side}.notes`)];
      await writeFile(script, `#!/bin/sh\nexec ${meter} ${note} ${executable}\n`, { mode: 0o755 });
      metered[side] = script;
      notes[side] = note;
    }
    await measure(timer, { ...what, del: true, rounds: CALLS, parallel: 1, executables: metered }, env);
    const peaks: Record<string, number> = {};
    for (const [side, note] of Object.entries(notes)) {
      const lines = (await readFile(note, "utf8")).split("\n").map((line) => line.split(" "));
      const ofCommand = lines.filter(([command]) => command === what.command);
      peaks[side] = Math.max(...ofCommand.map(([, kib]) => (Number(kib) * 1024) / 1e6));
    }
    return peaks;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
