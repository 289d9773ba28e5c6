import { fullInText, fullnessOf, isMeasured } from "../../api/forecast-text.ts";
import { parseMac } from "../../api/mac.ts";
import type { CollisionView, PoolView } from "../../mac-pool/inspection/rest/views.ts";
import { type Finding, type KnownConsistency, noPool, poolWith } from "../backends/pool-backend.ts";
import type { CommandInput, CommandResult, CommandSpec } from "../command.ts";
import { type Options, UsageError } from "../command-line.ts";
import { describeFinding } from "../consistency-text.ts";
import { CliError } from "../faults.ts";
import { counted } from "../findings-text.ts";
import { pastable } from "../pasted-commands.ts";
import { describePool, usedText } from "../pool-text.ts";
import { withCommas } from "../quantities.ts";
import { type Column, formatTable, tableOptions } from "../table.ts";
import { painted, type Terminal, wrapped } from "../terminal.ts";
import { formatViews, poolNameOf } from "../views-text.ts";

export const status: CommandSpec = {
  name: "status",
  args: "[POOL]",
  summary: "how full each pool is, and its problems",
  details: [
    "The fullest pool is first. The problems are the findings of kubectl macpool doctor, by their codes, and addresses in use twice. " +
      "Ends with 1 where there is one.",
    "-o json has them as problems and collisions; null where they are not known.",
    "POOL is the name of a MACPool: of this one it tells everything, and of its problems what to do. -o wide adds numbers.",
  ],
  examples: ["kubectl macpool status", "kubectl macpool status default", "kubectl macpool status -o json"],
  offers: "pools",
  run: async (input) => {
    const { line, ask } = input;
    const [name, ...more] = line.args;
    if (more.length > 0) throw new UsageError("status takes one argument: the name of a MACPool");
    const pools = await ask((backend) => backend.pools());
    const problems = await problemsOf(pools, input);
    return name === undefined ? ofAll(pools, problems, input) : ofOne(poolNamed(name, pools), problems, input);
  },
};

/** Of all pools at once, or of an address outside every range. */
const NO_POOL = "";
/** Of bridges, networks and VMs that wait for a node; no pool has a name with a space. */
const NETWORKS = "of networks";

interface Problems {
  readonly findings: readonly Finding[];
  /** By pool, NO_POOL or NETWORKS. */
  readonly ofPool: ReadonlyMap<string, readonly Finding[]>;
  /** With those that the list is too long for. */
  readonly total: number;
  readonly collisions: readonly CollisionView[];
  /** Why they are not known. */
  readonly unknown?: string;
}

/** What the doctor finds, and what collides; that the service is away is told anyway. */
async function problemsOf(pools: readonly PoolView[], { ask }: CommandInput): Promise<Problems> {
  let view: KnownConsistency;
  let collisions: readonly CollisionView[];
  try {
    view = await ask((backend) => backend.consistency());
    collisions = (await ask((backend) => backend.collisions())).items;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { findings: [], ofPool: new Map(), total: 0, collisions: [], unknown: error.message };
  }
  const findings = view.findings.filter(({ code }) => code !== "SERVICE_AWAY");
  const ofPool = Map.groupBy(findings, ({ pool, network, bridge, mac: text }) => {
    if ((network ?? bridge) !== undefined) return NETWORKS;
    const mac = text === undefined ? undefined : parseMac(text);
    return pool ?? (mac && poolWith(pools, mac)?.name) ?? NO_POOL;
  });
  return { findings, ofPool, total: view.total - (view.findings.length - findings.length), collisions };
}

/** For programs: why it ends with 1. */
function viewOf({ findings, collisions, unknown }: Problems): object {
  return unknown === undefined ? { problems: findings, collisions } : { problems: null, collisions: null };
}

function poolNamed(name: string, pools: readonly PoolView[]): PoolView {
  const pool = pools.find((one) => one.name === name);
  if (pool !== undefined) return pool;
  throw new CliError(
    noPool(
      name,
      pools.map((one) => one.name),
    ),
  );
}

function ofAll(pools: readonly PoolView[], problems: Problems, { line, terminal }: CommandInput): CommandResult {
  const { ofPool, total, collisions, unknown } = problems;
  const exitCode = total + collisions.length > 0 || pools.length === 0 ? 1 : 0;
  const note = unknown === undefined ? {} : { stderr: notKnown(unknown) };
  const items = pools.toSorted((a, b) => fullnessOf(b) - fullnessOf(a));
  const views = { items, total: items.length, ...viewOf(problems) };
  const formatted = formatViews(line, views, items.map(poolNameOf));
  if (formatted !== undefined) return { stdout: formatted, ...note, exitCode };
  if (pools.length === 0) {
    return { stdout: "", stderr: "there is no MACPool: set kubeMacPool in NetworkAddonsConfig cluster", exitCode };
  }
  const wide: Column<PoolView>[] = [
    { header: "CAPACITY", cell: ({ capacity }) => withCommas(capacity) },
    { header: "PENDING", cell: ({ pending }) => withCommas(pending) },
    { header: "QUARANTINED", cell: ({ quarantined }) => withCommas(quarantined) },
    { header: "OUT OF RANGE", cell: ({ outOfRange }) => withCommas(outOfRange) },
    { header: "ALLOCATED/DAY", cell: ({ rate }) => (isMeasured(rate) ? withCommas(rate.allocationsPerDay) : "") },
    { header: "RELEASED/DAY", cell: ({ rate }) => (isMeasured(rate) ? withCommas(rate.releasesPerDay) : "") },
  ];
  const columns: Column<PoolView>[] = [
    { header: "POOL", cell: ({ name }) => name, cut: true },
    { header: "USED", cell: usedText },
    { header: "FREE", cell: ({ free }) => withCommas(free) },
    { header: "FULL IN", cell: fullInText, cut: true, drop: 1 },
    ...(line.options.output === "wide" ? wide : []),
    { header: "PROBLEM", cell: ({ name }) => codesText(ofPool.get(name) ?? []), below: true },
  ];
  const table = formatTable(columns, items, tableOptions(line.options, terminal));
  const below = unknown === undefined ? `\n${othersText(problems, line.options, terminal)}` : "";
  return {
    stdout: table + below,
    ...note,
    exitCode,
  };
}

function ofOne(pool: PoolView, { ofPool, total, collisions, unknown }: Problems, input: CommandInput): CommandResult {
  const { line, terminal } = input;
  const own = ofPool.get(pool.name) ?? [];
  const exitCode = own.length > 0 ? 1 : 0;
  const note = unknown === undefined ? {} : { stderr: notKnown(unknown) };
  const formatted = formatViews(line, { ...pool, problems: unknown === undefined ? own : null }, [poolNameOf(pool)]);
  if (formatted !== undefined) return { stdout: formatted, ...note, exitCode };
  const texts = own.map((finding) => describeFinding(finding, input)).join("");
  const ofWhat = total + collisions.length > 0 ? " of this pool" : "";
  const none = unknown === undefined && own.length === 0 ? `\nNo problems${ofWhat}.\n` : "";
  return { stdout: describePool(pool, terminal) + texts + none, ...note, exitCode };
}

/** What no line of the table has, each with the command that shows it. */
function othersText({ ofPool, total, collisions }: Problems, options: Options, terminal: Terminal): string {
  const ofNoPool = codesText(ofPool.get(NO_POOL) ?? []);
  const ofNetworks = codesText(ofPool.get(NETWORKS) ?? []);
  const others = [
    ...(ofNoPool === "" ? [] : [`Of no pool: ${ofNoPool}`]),
    ...(ofNetworks === "" ? [] : [`Of networks: ${ofNetworks}. kubectl macpool networks shows where.`]),
    ...(collisions.length === 0 ? [] : [collisionsText(collisions.length)]),
  ].map((text) => wrapped(terminal, pastable(text, options), 0));
  if (total === 0) return others.length === 0 ? "No problems.\n" : others.join("");
  const what = painted(terminal, "red", counted(total, "problem"));
  return `${others.join("")}${what}: ${pastable("kubectl macpool doctor says what to do about each.", options)}\n`;
}

const collisionsText = (count: number): string =>
  `${counted(count, "collision")}: kubectl macpool collisions -A shows who has the ${count === 1 ? "address" : "addresses"}.`;

/** `POOL_FULL, 2 SHARED_ADDRESS` */
function codesText(findings: readonly Finding[]): string {
  const byCode = Map.groupBy(findings, ({ code }) => code);
  return [...byCode].map(([code, { length }]) => (length === 1 ? code : `${length} ${code}`)).join(", ");
}

function notKnown(reason: string): string {
  return `note: problems are not known: ${reason}`;
}
