/** The bridge plugin against the Go reference plugin: layer 2, addresses, spoof checks, masquerading, many at once. */

import { execFileSync } from "node:child_process";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { BuildError, buildPlugins } from "../../cni-plugins/build.ts";
import { type Bench, type BenchContext, BenchFault, type BenchRow, row } from "./bench.ts";
import { compile, type Measurement, measure, median, type Samples } from "./cni-timer.ts";
import { buildPeers, MissingTool } from "./peers.ts";

const PARALLEL = 50;
const CONFIG = { cniVersion: "1.0.0", name: "bench", type: "bridge", bridge: "br-bench" };

interface Scenario extends Pick<Measurement, "command" | "rounds" | "parallel" | "del"> {
  readonly what: string;
  readonly goal: number | null;
  /** Added to the configuration of a layer 2 attachment. */
  readonly keys?: object;
  /** How many attachments have spoof checks already. */
  readonly checked?: number;
}

/** `DATA` stands for a directory of the run's own. */
const IPAM = { ipam: { type: "host-local", dataDir: "DATA", ranges: [[{ subnet: "10.88.0.0/16" }]] } };
const MASQUERADE = { ...IPAM, isGateway: true, ipMasq: true, ipMasqBackend: "nftables" };
const SPOOF_CHECK = { macspoofchk: true };
/** Spoof-checked attachments that a node may have. */
const CHECKED = [1, 300, 1000];
/** The most that the cost may grow from the fewest to the most of them. */
const FLAT = 1.3;

const spoofChecks = (command: "ADD" | "DEL"): readonly Scenario[] =>
  CHECKED.map((checked) => ({
    what: `${command} with macspoofchk, ${checked} attachments present`,
    command,
    rounds: 15,
    parallel: 1,
    del: true,
    goal: checked === 300 ? 0.15 : null,
    keys: SPOOF_CHECK,
    checked,
  }));

const SCENARIOS: readonly Scenario[] = [
  { what: "VERSION", command: "VERSION", rounds: 300, parallel: 1, goal: null },
  { what: "L2 ADD", command: "ADD", rounds: 200, parallel: 1, goal: 0.55 },
  { what: `${PARALLEL} L2 ADDs at once`, command: "ADD", rounds: 40, parallel: PARALLEL, goal: 0.5 },
  { what: "L2 DEL", command: "DEL", rounds: 50, parallel: 1, goal: null },
  { what: `${PARALLEL} L2 DELs at once`, command: "DEL", rounds: 12, parallel: PARALLEL, goal: 0.65 },
  { what: "ADD with host-local", command: "ADD", rounds: 60, parallel: 1, goal: 0.65, keys: IPAM, del: true },
  {
    what: "ADD with ipMasq (nftables)",
    command: "ADD",
    rounds: 20,
    parallel: 1,
    goal: 0.4,
    keys: MASQUERADE,
    del: true,
  },
  ...spoofChecks("ADD"),
  ...spoofChecks("DEL"),
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
      const costs: Record<string, number> = {};
      for (const { what, goal, keys = {}, checked, ...scenario } of SCENARIOS) {
        context.log(`measuring ${what}, ${scenario.rounds} rounds`);
        await writeFile(
          configFile,
          JSON.stringify({ ...CONFIG, ...keys }).replaceAll("DATA", path.join(directory, "data")),
        );
        const rules = checked === undefined ? {} : { rulesFile: await writeSpoofChecks(directory, checked) };
        const variants = scenario.command === "VERSION" ? { ...executables, floor } : executables;
        const cniPath = path.dirname(executables.peer);
        const measurement = { ...scenario, ...rules, configFile, cniPath, executables: variants };
        const samples = await measure(timer, measurement, env);
        rows.push(...rowsOf(what, goal, samples));
        if (checked !== undefined) costs[`${scenario.command} ${checked}`] = median(samples.ours?.wallMs ?? []);
      }
      for (const command of ["ADD", "DEL"]) {
        const [fewest, most] = [CHECKED.at(0), CHECKED.at(-1)].map(
          (count) => costs[`${command} ${count}`] ?? Number.NaN,
        );
        const what = `${command} with macspoofchk, ${CHECKED.at(-1)} present against ${CHECKED.at(0)}`;
        rows.push(row(what, "ms", most ?? Number.NaN, fewest ?? null, FLAT));
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
