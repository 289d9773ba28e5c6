/** How many instructions a call takes, counted by valgrind: the same on a busy machine as on a quiet one. */

import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Measurement, measure, median } from "./cni-timer.ts";

/** In millions, of one call without its start-up rounds; undefined when there is no valgrind. Go's run time ends it. */
export async function countInstructions(
  timer: string,
  what: Pick<Measurement, "command" | "configFile">,
  executable: string,
  env: NodeJS.ProcessEnv,
): Promise<number | undefined> {
  if (!hasValgrind()) return undefined;
  const directory = await mkdtemp(path.join(tmpdir(), "cni-instructions-"));
  try {
    const counted = path.join(directory, "counted");
    const log = `${directory}/$CNI_COMMAND.%p.log`;
    const valgrind = `valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="${log}"`;
    await writeFile(counted, `#!/bin/sh\nexec ${valgrind} ${executable}\n`, { mode: 0o755 });
    await measure(timer, { ...what, rounds: 1, parallel: 1, executables: { ours: counted } }, env);
    const logs = (await readdir(directory)).filter((name) => name.startsWith(`${what.command}.`));
    const texts = await Promise.all(logs.map((name) => readFile(path.join(directory, name), "utf8")));
    return median(texts.map((text) => Number(/Collected : (\d+)/.exec(text)?.[1]))) / 1e6;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function hasValgrind(): boolean {
  try {
    execFileSync("valgrind", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
