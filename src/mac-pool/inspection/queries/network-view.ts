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
import type { JudgedNetwork } from "./network-verdict.ts";
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
  /** Those of them that the reader is told of: each has a cell. */
  readonly told: readonly string[];
  readonly users: NetworkUsers;
  readonly isPlaced: IsPlaced;
}

/** `whole`: with all nodes and findings. */
export function networkView(facts: NetworkFacts, scope: Scope, whole: boolean): NetworkView {
  const { network, judged, on, nodes } = facts;
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
    nodes: nodesView(judged, on, nodes.length),
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

const COUNTED: Readonly<Record<Verdict, "works" | "warning" | "fails" | "noBridge" | "unknown">> = {
  Works: "works",
  Warning: "warning",
  Fails: "fails",
  NoBridge: "noBridge",
  Unknown: "unknown",
};

function nodesView(
  { byGroup, elsewhere }: JudgedNetwork,
  on: BridgeOnNodes | undefined,
  total: number,
): NetworkNodesView {
  const withBridge = on?.on.length ?? 0;
  const view = { total, withBridge, works: 0, warning: 0, fails: 0, noBridge: 0, unknown: 0 };
  for (const [index, { nodes }] of (on?.groups ?? []).entries()) {
    view[COUNTED[byGroup[index] ?? "Unknown"]] += nodes.length;
  }
  view[COUNTED[elsewhere]] += total - withBridge;
  return view;
}

function cellsOf(
  { judged, on, nodes, told }: NetworkFacts,
  running: ReadonlyMap<string, number>,
  whole: boolean,
): NetworkCellView[] {
  const groups = on?.groups ?? [];
  const verdictOf = (index: number): Verdict => judged.byGroup[index] ?? "Unknown";
  const cell = (node: string, verdict: Verdict): NetworkCellView => ({
    node,
    running: running.get(node) ?? 0,
    verdict,
  });
  if (!whole && nodes.length > MAX_COLUMNS) {
    const usual = mostOf(groups.map(({ nodes: { length } }, index) => [verdictOf(index), length]));
    const exceptions = groups.flatMap((group, index) =>
      verdictOf(index) === usual
        ? []
        : group.nodes.slice(0, MAX_EXCEPTIONS).map((node) => cell(node, verdictOf(index))),
    );
    return exceptions.sort(byNode).slice(0, MAX_EXCEPTIONS);
  }
  const verdicts = new Map<string, Verdict>();
  for (const node of told) verdicts.set(node, judged.elsewhere);
  // Nodes that report no bridges.
  const reporting = new Set(nodes);
  for (const node of running.keys()) verdicts.set(node, reporting.has(node) ? judged.elsewhere : "Unknown");
  for (const [index, group] of groups.entries()) {
    for (const node of group.nodes) verdicts.set(node, verdictOf(index));
  }
  const cells = [...verdicts].map(([node, verdict]) => cell(node, verdict));
  return cells.sort(byNode).slice(0, MAX_CELLS);
}

function byNode(one: NetworkCellView, other: NetworkCellView): number {
  return one.node < other.node ? -1 : 1;
}

function mostOf(counted: readonly (readonly [Verdict, number])[]): Verdict | undefined {
  const counts = new Map<Verdict, number>();
  for (const [verdict, count] of counted) counts.set(verdict, (counts.get(verdict) ?? 0) + count);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}
