import type { Finding } from "../../../nad-lint/finding.ts";
import { wordsOf } from "../../../nad-lint/finding-words.ts";
import type { NetworkUsers } from "../../cluster/network-counts.ts";
import type {
  NetworkCellView,
  NetworkFindingView,
  NetworkNodesView,
  NetworkView,
  Verdict,
} from "../rest/network-views.ts";
import type { CatalogNetwork } from "./network-catalog.ts";
import { type IsPlaced, usersView } from "./network-users.ts";
import { type JudgedNetwork, notNowOf } from "./network-verdict.ts";
import type { BridgeOnNodes } from "./node-bridges.ts";
import type { Scope } from "./scope.ts";
import { uplinkFindings } from "./uplinks.ts";

/** Up to so many nodes have a cell each in a list. */
export const MAX_COLUMNS = 16;
export const MAX_EXCEPTIONS = 8;
const MAX_FINDINGS = 4;
/** Of a single view. Kubernetes supports 5,000 nodes. */
const MAX_CELLS = 5_000;
const MAX_MESSAGE_CHARS = 512;

const TOO_LONG: NetworkFindingView = {
  code: "config-too-long",
  severity: "warning",
  summary: "it is too long to be looked at",
  message:
    "spec.config has more than 16,384 characters or 100 objects: the MAC pool does not look at it. Use kubectl macpool lint.",
};

const ON_THE_NODE: NetworkFindingView = {
  code: "config-on-node",
  severity: "warning",
  summary: "its configuration is on the nodes",
  message:
    "spec.config is empty: multus takes the file with the network's name from a directory of each node, which the MAC pool can't read. Write the configuration into spec.config.",
};

export interface NetworkFacts {
  readonly network: CatalogNetwork;
  readonly judged: JudgedNetwork;
  readonly on: BridgeOnNodes | undefined;
  /** Nodes that report, ascending. */
  readonly nodes: readonly string[];
  /** Why a node takes no VM now. */
  readonly statesOf: (node: string) => readonly string[];
  /** Those of them that the reader is told of: each has a cell. */
  readonly told: readonly string[];
  readonly users: NetworkUsers;
  readonly isPlaced: IsPlaced;
}

/** `whole`: with all nodes and findings. */
export function networkView(facts: NetworkFacts, scope: Scope, whole: boolean): NetworkView {
  const { network, judged, on } = facts;
  const { namespace, name, type, bridge, segment, resource, config } = network;
  const running = runningByNode(facts.users, scope);
  const all = notLookedAt(config) ?? [
    ...judged.findings.map(findingView),
    ...(on === undefined ? [] : uplinkFindings(on)),
  ];
  const findings = whole ? all : all.slice(0, MAX_FINDINGS);
  return {
    namespace,
    name,
    ...(type === undefined ? {} : { type }),
    ...segment,
    ...(bridge?.mtu === undefined ? {} : { mtu: bridge.mtu }),
    spoofCheck: bridge?.spoofCheck ?? false,
    ...(resource === undefined ? {} : { resource }),
    nodes: countsOf(facts),
    ...usersView(facts.users, facts.isPlaced, scope),
    running: sum(running.values()),
    cells: cellsOf(facts, running, whole),
    findings,
    moreFindings: all.length - findings.length,
  };
}

function notLookedAt(config: string | undefined): NetworkFindingView[] | undefined {
  if (config === undefined) return [TOO_LONG];
  return config === "" ? [ON_THE_NODE] : undefined;
}

function findingView(finding: Finding): NetworkFindingView {
  const { code, severity, message } = finding;
  return {
    code,
    severity: severity === "error" ? "error" : "warning",
    summary: wordsOf(finding),
    message: message.slice(0, MAX_MESSAGE_CHARS),
  };
}

/** VMs that run on a network, by node. */
export function runningByNode({ running }: NetworkUsers, { namespace }: Scope): ReadonlyMap<string, number> {
  if (namespace !== undefined) return running.get(namespace) ?? NONE;
  if (running.size <= 1) return [...running.values()][0] ?? NONE;
  const all = new Map<string, number>();
  for (const nodes of running.values()) for (const [node, count] of nodes) all.set(node, (all.get(node) ?? 0) + count);
  return all;
}

const NONE: ReadonlyMap<string, number> = new Map();

export function sum(counts: Iterable<number>): number {
  let all = 0;
  for (const count of counts) all += count;
  return all;
}

const COUNTED: Readonly<Record<Verdict, Exclude<keyof NetworkNodesView, "total" | "withBridge">>> = {
  Works: "works",
  Warning: "warning",
  Fails: "fails",
  NotNow: "notNow",
  NoBridge: "noBridge",
  Unknown: "unknown",
};

function countsOf(facts: NetworkFacts): NetworkNodesView {
  const { judged, on, nodes } = facts;
  const withBridge = on?.on.length ?? 0;
  const counts = { works: 0, warning: 0, fails: 0, notNow: awayElsewhere(facts).length, noBridge: 0, unknown: 0 };
  counts[COUNTED[judged.elsewhere]] += nodes.length - withBridge - counts.notNow;
  for (const [index, group] of (on?.groups ?? []).entries()) {
    counts[COUNTED[judged.byGroup[index] ?? "Unknown"]] += group.nodes.length;
  }
  return { total: nodes.length, withBridge, ...counts };
}

/** Nodes without the bridge that take no VMs now, where the plugin would make it. */
function awayElsewhere({ judged, on, nodes, statesOf }: NetworkFacts) {
  if (judged.elsewhere !== "Works") return [];
  const having = new Set(on?.on.map(({ node }) => node));
  return nodes
    .filter((node) => !having.has(node))
    .map((node) => ({ node, states: statesOf(node) }))
    .filter(({ states }) => states.length > 0);
}

function cellsOf(facts: NetworkFacts, running: ReadonlyMap<string, number>, whole: boolean): NetworkCellView[] {
  const { network, judged, on, nodes, told } = facts;
  const groups = (on?.groups ?? []).map((group, index) => ({ group, verdict: judged.byGroup[index] ?? "Unknown" }));
  const cell = (node: string, verdict: Verdict, landing?: Parameters<typeof notNowOf>[1]): NetworkCellView => {
    const reason = verdict === "NotNow" && landing !== undefined ? notNowOf(network, landing) : undefined;
    return { node, running: running.get(node) ?? 0, verdict, ...(reason === undefined ? {} : { reason }) };
  };
  if (!whole && nodes.length > MAX_COLUMNS) {
    const usual = mostOf(groups.map(({ group, verdict }) => [verdict, group.nodes.length]));
    const exceptions = groups.flatMap(({ group, verdict }) =>
      verdict === usual ? [] : group.nodes.slice(0, MAX_EXCEPTIONS).map((node) => cell(node, verdict, group)),
    );
    return exceptions.sort(byVerdictAndNode).slice(0, MAX_EXCEPTIONS);
  }
  const cells = new Map<string, NetworkCellView>();
  for (const node of told) cells.set(node, cell(node, judged.elsewhere));
  // Nodes that report no bridges.
  const reporting = new Set(nodes);
  for (const node of running.keys()) cells.set(node, cell(node, reporting.has(node) ? judged.elsewhere : "Unknown"));
  for (const { node, states } of awayElsewhere(facts)) {
    if (cells.has(node)) cells.set(node, cell(node, "NotNow", { states, publishes: true }));
  }
  for (const { group, verdict } of groups) {
    for (const node of group.nodes) cells.set(node, cell(node, verdict, group));
  }
  return [...cells.values()].sort(byNode).slice(0, MAX_CELLS);
}

function byNode(one: NetworkCellView, other: NetworkCellView): number {
  return one.node < other.node ? -1 : 1;
}

/** A drain of many nodes must not push those out where VMs fail. */
function byVerdictAndNode(one: NetworkCellView, other: NetworkCellView): number {
  return Number(one.verdict === "NotNow") - Number(other.verdict === "NotNow") || byNode(one, other);
}

function mostOf(counted: readonly (readonly [Verdict, number])[]): Verdict | undefined {
  const counts = new Map<Verdict, number>();
  for (const [verdict, count] of counted) counts.set(verdict, (counts.get(verdict) ?? 0) + count);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
