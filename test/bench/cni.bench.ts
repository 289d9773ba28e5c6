/** The bridge plugin against the Go reference plugin: layer 2 attachments, one at a time and fifty at once. */

import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { BuildError, buildPlugins } from "../../cni-plugins/build.ts";
import { type Bench, type BenchContext, BenchFault, type BenchRow, row } from "./bench.ts";
import { compile, type Measurement, measure, median, type Samples } from "./cni-timer.ts";
import { buildPeers, MissingTool } from "./peers.ts";

const PARALLEL = 50;
const CONFIG = { cniVersion: "1.0.0", name: "bench", type: "bridge", bridge: "br-bench" };

interface Scenario extends Pick<Measurement, "command" | "rounds" | "parallel"> {
  readonly what: string;
  readonly goal: number | null;
}

const SCENARIOS: readonly Scenario[] = [
  { what: "VERSION", command: "VERSION", rounds: 300, parallel: 1, goal: null },
  { what: "L2 ADD", command: "ADD", rounds: 200, parallel: 1, goal: 0.58 },
  { what: `${PARALLEL} L2 ADDs at once`, command: "ADD", rounds: 40, parallel: PARALLEL, goal: 0.5 },
  { what: "L2 DEL", command: "DEL", rounds: 50, parallel: 1, goal: null },
  { what: `${PARALLEL} L2 DELs at once`, command: "DEL", rounds: 12, parallel: PARALLEL, goal: null },
];

export const bench: Bench = {
  about: "the bridge plugin against containernetworking/plugins v1.9.1, taking turns in one run; medians",
  async run(context) {
    const { env } = context;
    warnAboutLoad(context);
    const executables = await prepare(context);
    const timer = await compile("cni-timer", env);
    const floor = await compile("floor", env);
    const directory = await mkdtemp(path.join(tmpdir(), "cni-bench-"));
    const configFile = path.join(directory, "config.json");
    const rows: BenchRow[] = [];
    try {
      await writeFile(configFile, JSON.stringify(CONFIG));
      for (const { what, command, rounds, parallel, goal } of SCENARIOS) {
        context.log(`measuring ${what}, ${rounds} rounds`);
        const variants = command === "VERSION" ? { ...executables, floor } : executables;
        const samples = await measure(timer, { command, rounds, parallel, configFile, executables: variants }, env);
        rows.push(...rowsOf(what, goal, samples));
      }
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
    const [ours, peer] = await Promise.all(
      [executables.ours, executables.peer].map(async (file) => (await stat(file)).size / 1e6),
    );
    return [...rows, row("size of the executable", "MB", ours ?? Number.NaN, peer ?? null, null)];
  },
};

/** Others' network namespaces hold the kernel's one lock for links: that time is added to both sides. */
function warnAboutLoad({ log }: BenchContext): void {
  const [load = 0] = loadavg();
  if (load < availableParallelism() / 2) return;
  log(
    `load average ${load.toFixed(1)}: other work on this machine moves the ratios towards 1; measure again when it is quiet`,
  );
}

async function prepare({ env, log }: BenchContext): Promise<{ ours: string; peer: string }> {
  try {
    const plugins = await buildPlugins({ env, log });
    const peers = await buildPeers(env, log);
    return { ours: path.join(plugins, "bridge"), peer: path.join(peers, "bridge") };
  } catch (error) {
    if (error instanceof BuildError || error instanceof MissingTool) throw new BenchFault(error.message);
    throw error;
  }
}

function rowsOf(what: string, goal: number | null, { ours, peer, floor }: Record<string, Samples>): BenchRow[] {
  if (ours === undefined || peer === undefined) throw new Error(`${what} was not measured`);
  const rows = [row(what, "ms", median(ours.wallMs), median(peer.wallMs), goal)];
  if (floor !== undefined)
    rows.push(row("an empty static process (the floor)", "ms", median(floor.wallMs), null, null));
  if (what === "L2 ADD") {
    rows.push(row(`CPU time of an ${what}`, "ms", median(ours.cpuMs), median(peer.cpuMs), null));
    rows.push(row(`peak memory of an ${what}`, "MB", ours.rssKb / 1e3, peer.rssKb / 1e3, null));
  }
  return rows;
}
