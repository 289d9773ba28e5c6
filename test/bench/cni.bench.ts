/** The CNI plugins against the Go reference plugins: layer 2, addresses, spoof checks, masquerading, many at once. */

import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import { BuildError } from "../../cni-plugins/build/toolchain.ts";
import { MissingRequirement } from "../cluster/requirements.ts";
import {
  type Bench,
  type BenchContext,
  BenchFault,
  type BenchRow,
  limitedRow,
  median,
  type Need,
  row,
} from "./bench.ts";
import {
  CHECKED,
  EVERYTHING,
  FLAT,
  LAYER_2_ADD,
  LAYER_2_DEL,
  SCENARIOS,
  type Scenario,
  SPOOF_CHECKS,
  VERSION,
} from "./cni-scenarios.ts";
import { compile, type Measurement, measure, type Samples } from "./cni-timer.ts";
import { NAMESPACES } from "./needs.ts";
import { buildPeers } from "./peers.ts";

/** How much memory a call holds at most, without that of the programs it starts. */

const CALLS = 5;

/** The peak of several calls in MB, by side; of whichever call had the most. */
async function peakMemory(
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

const CONFIG = { cniVersion: "1.0.0", name: "bench", type: "bridge", bridge: "br-bench" };
/** What the timer calls the interface; of the result before, tuning reads the names only. */
const INTERFACES = [{ name: "br-bench" }, { name: "bench0", sandbox: "/run/netns/bench" }];
const TUNING = {
  ...{ ...CONFIG, type: "tuning", bridge: undefined, mac: "02:00:00:00:00:01", mtu: 1400 },
  ...{ sysctl: { "net.ipv4.conf.IFNAME.arp_notify": "1" } },
  prevResult: { cniVersion: "1.0.0", interfaces: INTERFACES },
};
const CHAIN_ROUNDS = 60;
const CHAIN_GOAL = 0.7;
const MEMORY_LIMIT_MB = 2.8;
const SIZE_LIMIT_MB = 2.6;
/** Of the rounds that are made otherwise. */
const SHORT = 0.2;
const MIN_ROUNDS = 3;

/** Folders of executables by side. */
type Folders = Readonly<Record<"ours" | "peer", string>>;

const COMPILER: Need = { programs: ["cc"], purpose: "to build the timer", debianPackage: "gcc" };
const NFT: Need = {
  programs: ["nft"],
  purpose: "to measure spoof checks and masquerading",
  debianPackage: "nftables",
};

export const bench: Bench = {
  about: "the CNI plugins against containernetworking/plugins v1.9.1, taking turns in one run; medians",
  needs: [...NAMESPACES, COMPILER, NFT],
  async run(context) {
    warnAboutLoad(context);
    const folders = await prepare(context);
    const directory = await mkdtemp(path.join(tmpdir(), "cni-bench-"));
    try {
      const timer = await compile("cni-timer", context.env);
      const rows = await scenarioRows(context, folders, { timer, directory });
      rows.push(...(await spoofCheckRows(context, folders, { timer, directory })));
      context.log("measuring ADD of bridge and tuning");
      const chain = await measureChain(context, folders, { timer, directory });
      rows.push(row("ADD of bridge and tuning", "ms", wall(chain.ours), wall(chain.peer), CHAIN_GOAL));
      rows.push(memoryRow("ADD of tuning", inMegabytes(chain.ours), inMegabytes(chain.peer)));
      rows.push(...(await wholeMemoryRows(context, folders, { timer, directory })));
      return [...rows, ...(await sizeRows(folders))];
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

interface Tools {
  readonly timer: string;
  /** For files of this run. */
  readonly directory: string;
}

async function scenarioRows(context: BenchContext, folders: Folders, tools: Tools): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const scenario of SCENARIOS) {
    const measurement = await measurementOf(context, scenario, folders, tools);
    rows.push(...rowsOf(scenario, await measure(tools.timer, measurement, context.env)));
  }
  return rows;
}

/** Both sides on all nodes in turn: a millisecond more or less on a busy machine is seen on each of them. */
async function spoofCheckRows(context: BenchContext, folders: Folders, tools: Tools): Promise<BenchRow[]> {
  const nodes: Record<string, string> = {};
  for (const count of CHECKED) nodes[String(count)] = await writeSpoofChecks(tools.directory, count);
  const rows: BenchRow[] = [];
  for (const scenario of SPOOF_CHECKS) {
    const measurement = await measurementOf(context, scenario, folders, tools);
    const samples = await measure(tools.timer, { ...measurement, nodes }, context.env);
    for (const count of CHECKED) {
      const goal = count === CHECKED[1] ? scenario.goal : null;
      const [ours, peer] = [wall(samples[`ours@${count}`]), wall(samples[`peer@${count}`])];
      rows.push(row(`${scenario.what}, ${count} attachments present`, "ms", ours, peer, goal));
    }
    const [fewest, most] = [CHECKED.at(0), CHECKED.at(-1)];
    const growth = `${scenario.what}, ${most} present against ${fewest}`;
    rows.push(row(growth, "ms", wall(samples[`ours@${most}`]), wall(samples[`ours@${fewest}`]), FLAT));
  }
  return rows;
}

function bridges({ ours, peer }: Folders): Record<string, string> {
  return { ours: path.join(ours, "bridge"), peer: path.join(peer, "bridge") };
}

async function measurementOf(
  context: BenchContext,
  scenario: Scenario,
  folders: Folders,
  tools: Tools,
): Promise<Measurement> {
  const rounds = roundsOf(scenario.rounds, context);
  context.log(`measuring ${scenario.what}, ${rounds} rounds`);
  const configFile = await writeConfig(tools.directory, scenario.keys);
  return { ...scenario, rounds, configFile, cniPath: folders.peer, executables: bridges(folders) };
}

/** Of attachments that have all there is. */
async function wholeMemoryRows({ env, log }: BenchContext, folders: Folders, tools: Tools): Promise<BenchRow[]> {
  log("measuring memory");
  const configFile = await writeConfig(tools.directory, EVERYTHING);
  const rows: BenchRow[] = [];
  for (const command of ["ADD", "DEL"] as const) {
    const what = { command, configFile, cniPath: folders.peer };
    const { ours = Number.NaN, peer = Number.NaN } = await peakMemory(tools.timer, what, bridges(folders), env);
    rows.push(memoryRow(`${command} with everything`, ours, peer));
  }
  return rows;
}

/** An ADD of the list of plugins that most attachments have: the time from the first plugin's start to the last one's end. */
async function measureChain(
  context: BenchContext,
  folders: Folders,
  { timer, directory }: Tools,
): Promise<Record<string, Samples>> {
  const configFile = await writeConfig(directory);
  const thenConfigFile = path.join(directory, "tuning.json");
  await writeFile(thenConfigFile, JSON.stringify(TUNING));
  const executables: Record<string, string> = {};
  for (const [side, folder] of Object.entries(folders)) {
    executables[side] = `${path.join(folder, "bridge")},${path.join(folder, "tuning")}`;
  }
  const list = { configFile, thenConfigFile, executables };
  return await measure(
    timer,
    { command: "ADD", rounds: roundsOf(CHAIN_ROUNDS, context), parallel: 1, ...list },
    context.env,
  );
}

async function sizeRows(folders: Folders): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const plugin of ["bridge", "tuning"]) {
    const sizes = [folders.ours, folders.peer].map(
      async (folder) => (await stat(path.join(folder, plugin))).size / 1e6,
    );
    const [ours = Number.NaN, peer = null] = await Promise.all(sizes);
    rows.push(limitedRow(`size of ${plugin}`, "MB", ours, peer, SIZE_LIMIT_MB));
  }
  return rows;
}

async function writeConfig(directory: string, keys: object = {}): Promise<string> {
  const file = path.join(directory, "config.json");
  const text = JSON.stringify({ ...CONFIG, ...keys }).replaceAll("DATA", path.join(directory, "data"));
  await writeFile(file, text);
  return file;
}

/** As either plugin would have made them for other attachments. */
async function writeSpoofChecks(directory: string, count: number): Promise<string> {
  const lines = [
    "table bridge nat { chain PREROUTING { type filter hook prerouting priority -300; policy accept; }; }",
  ];
  for (let i = 0; i < count; i++) {
    const id = `present${i}-net1`;
    const [chain, comment] = [`cni-br-iface-${id}`, `comment "macspoofchk-${id}"`];
    lines.push(`add chain bridge nat ${chain}`, `add chain bridge nat ${chain}-mac`);
    lines.push(`add rule bridge nat PREROUTING iifname "port${i}" jump ${chain} ${comment}`);
    lines.push(`add rule bridge nat ${chain} jump ${chain}-mac ${comment}`);
    lines.push(`add rule bridge nat ${chain}-mac ether saddr 02:00:00:00:00:01 return ${comment}`);
    lines.push(`add rule bridge nat ${chain}-mac drop ${comment}`);
  }
  const file = path.join(directory, `rules-${count}.nft`);
  await writeFile(file, `${lines.join("\n")}\n`);
  return file;
}

/** Others' network namespaces hold the kernel's one lock for links: that time is added to both sides. */
function warnAboutLoad({ log }: BenchContext): void {
  const [load = 0] = loadavg();
  if (load < availableParallelism() / 2) return;
  log(
    `load average ${load.toFixed(1)}: other work on this machine moves the ratios towards 1; measure again when it is quiet`,
  );
}

async function prepare({ env, log }: BenchContext): Promise<Folders> {
  try {
    return { ours: await buildPlugins({ env, log }), peer: await buildPeers(env, log) };
  } catch (error) {
    if (error instanceof BuildError || error instanceof MissingRequirement) throw new BenchFault(error.message);
    throw error;
  }
}

function roundsOf(rounds: number, { short }: BenchContext): number {
  return short ? Math.max(MIN_ROUNDS, Math.round(rounds * SHORT)) : rounds;
}

function wall(samples: Samples | undefined): number {
  return median(samples?.wallMs ?? []);
}

/** The kernel counts in units of 1,024 bytes. */
function inMegabytes(samples: Samples | undefined): number {
  return ((samples?.rssKb ?? Number.NaN) * 1024) / 1e6;
}

function memoryRow(what: string, ours: number, peer: number): BenchRow {
  return limitedRow(`peak memory of ${what}`, "MB", ours, peer, MEMORY_LIMIT_MB);
}

function rowsOf({ what, goal }: Scenario, { ours, peer }: Record<string, Samples>): BenchRow[] {
  if (ours === undefined || peer === undefined) throw new Error(`${what} was not measured`);
  const rows = [row(what, "ms", wall(ours), wall(peer), goal)];
  if (what === LAYER_2_ADD.what) {
    rows.push(row(`CPU time of an ${what}`, "ms", median(ours.cpuMs), median(peer.cpuMs), null));
  }
  if ([VERSION, LAYER_2_ADD, LAYER_2_DEL].some((one) => one.what === what)) {
    rows.push(memoryRow(what, inMegabytes(ours), inMegabytes(peer)));
  }
  return rows;
}
