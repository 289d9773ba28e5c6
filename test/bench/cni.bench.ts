/** The CNI plugins against the Go reference plugins: layer 2, addresses, spoof checks, masquerading, many at once. */

import { execFileSync } from "node:child_process";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { BuildError, buildPlugins } from "../../cni-plugins/build.ts";
import { type Bench, type BenchContext, BenchFault, type BenchRow, limitedRow, row } from "./bench.ts";
import { measureChain } from "./cni-chain.ts";
import { countInstructions } from "./cni-instructions.ts";
import {
  CHECKED,
  FLAT,
  LAYER_2_ADD,
  LAYER_2_DEL,
  LAYER_2_DELS,
  SCENARIOS,
  type Scenario,
  VERSION,
} from "./cni-scenarios.ts";
import { compile, measure, median, type Samples } from "./cni-timer.ts";
import { buildPeers, MissingTool } from "./peers.ts";

const CONFIG = { cniVersion: "1.0.0", name: "bench", type: "bridge", bridge: "br-bench" };
const CHAIN_ROUNDS = 60;
const CHAIN_GOAL = 0.55;
const MEMORY_LIMIT_MB = 2.5;
const SIZE_LIMIT_MB = 2.6;
/** Of the rounds that are made otherwise. */
const SHORT = 0.2;
const MIN_ROUNDS = 3;

/** Folders of executables by side. */
type Folders = Readonly<Record<"ours" | "peer", string>>;

export const bench: Bench = {
  about: "the CNI plugins against containernetworking/plugins v1.9.1, taking turns in one run; medians",
  async run(context) {
    warnAboutLoad(context);
    const folders = await prepare(context);
    const directory = await mkdtemp(path.join(tmpdir(), "cni-bench-"));
    try {
      const rows = await scenarioRows(context, folders, directory);
      context.log("measuring ADD of bridge and tuning");
      const chain = await measureChain(folders, roundsOf(CHAIN_ROUNDS, context), context.env);
      rows.push(row("ADD of bridge and tuning", "ms", wall(chain.ours), wall(chain.peer), CHAIN_GOAL));
      rows.push(...(await instructionRows(context, folders.ours, directory)));
      return [...rows, ...(await sizeRows(folders))];
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function scenarioRows(context: BenchContext, folders: Folders, directory: string): Promise<BenchRow[]> {
  const { env, log } = context;
  const timer = await compile("cni-timer", env);
  const floors: Record<string, string> = {
    [VERSION.what]: await compile("floor", env),
    [LAYER_2_ADD.what]: await compile("netlink-floor", env),
    [LAYER_2_DELS.what]: await compile("netlink-floor", env),
  };
  const executables = { ours: path.join(folders.ours, "bridge"), peer: path.join(folders.peer, "bridge") };
  const rows: BenchRow[] = [];
  const costs: Record<string, number> = {};
  for (const scenario of SCENARIOS) {
    const { what, command, checked } = scenario;
    const rounds = roundsOf(scenario.rounds, context);
    log(`measuring ${what}, ${rounds} rounds`);
    const measurement = {
      ...scenario,
      ...{ rounds, configFile: await writeConfig(directory, scenario.keys), cniPath: folders.peer },
      ...(checked === undefined ? {} : { rulesFile: await writeSpoofChecks(directory, checked) }),
      executables: what in floors ? { ...executables, floor: floors[what] ?? "" } : executables,
    };
    const samples = await measure(timer, measurement, env);
    rows.push(...rowsOf(scenario, samples));
    if (checked !== undefined) costs[`${command} ${checked}`] = wall(samples.ours);
  }
  const [fewest, most] = [CHECKED.at(0), CHECKED.at(-1)];
  for (const command of ["ADD", "DEL"]) {
    const [least, greatest] = [costs[`${command} ${fewest}`], costs[`${command} ${most}`]];
    const what = `${command} with macspoofchk, ${most} present against ${fewest}`;
    rows.push(row(what, "ms", greatest ?? Number.NaN, least ?? null, FLAT));
  }
  return rows;
}

async function instructionRows({ env, log }: BenchContext, folder: string, directory: string): Promise<BenchRow[]> {
  log("counting instructions");
  const timer = await compile("cni-timer", env);
  const configFile = await writeConfig(directory, {});
  const rows: BenchRow[] = [];
  for (const { what, command } of [VERSION, LAYER_2_ADD, LAYER_2_DEL]) {
    const counted = await countInstructions(timer, { command, configFile }, path.join(folder, "bridge"), env);
    if (counted !== undefined) rows.push(row(`instructions of ${what}`, "M instructions", counted, null, null));
  }
  if (rows.length === 0) log("valgrind was not found: install it to count instructions");
  return rows;
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
  requireNft();
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
  const file = path.join(directory, "rules.nft");
  await writeFile(file, `${lines.join("\n")}\n`);
  return file;
}

function requireNft(): void {
  try {
    execFileSync("nft", ["--version"], { stdio: "ignore" });
  } catch {
    throw new BenchFault("nft was not found: install nftables to measure spoof checks and masquerading");
  }
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
    if (error instanceof BuildError || error instanceof MissingTool) throw new BenchFault(error.message);
    throw error;
  }
}

function roundsOf(rounds: number, { short }: BenchContext): number {
  return short ? Math.max(MIN_ROUNDS, Math.round(rounds * SHORT)) : rounds;
}

function wall(samples: Samples | undefined): number {
  return median(samples?.wallMs ?? []);
}

function rowsOf({ what, goal }: Scenario, { ours, peer, floor }: Record<string, Samples>): BenchRow[] {
  if (ours === undefined || peer === undefined) throw new Error(`${what} was not measured`);
  const rows = [row(what, "ms", wall(ours), wall(peer), goal)];
  if (floor !== undefined) {
    const least = what === VERSION.what ? "an empty static process" : "the bare netlink requests in C";
    rows.push(row(`the floor of ${what}: ${least}`, "ms", wall(floor), wall(peer), null));
  }
  if (what === LAYER_2_ADD.what) {
    rows.push(row(`CPU time of an ${what}`, "ms", median(ours.cpuMs), median(peer.cpuMs), null));
  }
  if (what === LAYER_2_DEL.what) {
    rows.push(row(`${what} until its last process ended`, "ms", median(ours.settledMs), median(peer.settledMs), null));
  }
  if ([VERSION, LAYER_2_ADD, LAYER_2_DEL].some((one) => one.what === what)) {
    rows.push(limitedRow(`peak memory of ${what}`, "MB", ours.rssKb / 1e3, peer.rssKb / 1e3, MEMORY_LIMIT_MB));
  }
  return rows;
}
