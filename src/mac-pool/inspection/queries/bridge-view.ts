import { notNow, notNowBecause } from "../../../api/landing.ts";
import { onSuchNodes } from "../../../api/network-text.ts";
import type { BridgeOnNodeView, BridgeView } from "../rest/network-views.ts";
import { MAX_COLUMNS, MAX_EXCEPTIONS, sum } from "./network-view.ts";
import type { BridgeOnNodes } from "./node-bridges.ts";
import { isClosed, uplinkOf } from "./uplinks.ts";

const MAX_MTUS = 8;

export interface BridgeFacts {
  readonly name: string;
  readonly on: BridgeOnNodes | undefined;
  /** Nodes that report. */
  readonly total: number;
  /** Networks that the reader may see. */
  readonly networks: number;
  /** Whether one of them has a VLAN that the bridge has to keep apart. */
  readonly needsFiltering: boolean;
  /** Whether the reader sees all networks, and so that none uses it. */
  readonly seesAll: boolean;
  /** By node. */
  readonly running: ReadonlyMap<string, number>;
}

export function bridgeView(facts: BridgeFacts): BridgeView {
  const { name, on, total, networks, running } = facts;
  const nodes = (on?.on ?? []).map((bridge): BridgeOnNodeView => {
    const { node, mtu, vlanFiltering } = bridge;
    const uplink = uplinkOf(bridge);
    const because = notNowBecause(name, bridge);
    return {
      node,
      mtu,
      vlanFiltering,
      ...(uplink === undefined ? {} : { uplink }),
      ...(because === undefined ? {} : { notNow: because }),
      running: running.get(node) ?? 0,
    };
  });
  const mtus = [...new Set(nodes.map(({ mtu }) => mtu))].sort((a, b) => a - b);
  const filtering = oneOrMixed(new Set(nodes.map(({ vlanFiltering }) => (vlanFiltering ? "on" : "off"))));
  const uplink = oneOrMixed(new Set(nodes.flatMap((one) => one.uplink ?? [])));
  return {
    name,
    nodes: nodes.length,
    totalNodes: total,
    mtus: mtus.slice(0, MAX_MTUS),
    ...(filtering === undefined ? {} : { filtering }),
    ...(uplink === undefined ? {} : { uplink }),
    networks,
    running: sum(running.values()),
    on: nodes.length <= MAX_COLUMNS ? nodes : exceptionsOf(nodes),
    problems: problemsOf(facts, nodes, mtus),
    notes: notesOf(facts),
  };
}

function problemsOf(
  { name, needsFiltering, on }: BridgeFacts,
  nodes: readonly BridgeOnNodeView[],
  mtus: readonly number[],
): string[] {
  if (nodes.length === 0) return ["on no node"];
  const away = notNow(name, on?.on ?? []);
  const unable = new Set(on?.on.flatMap(({ node, canFilterVlans }) => (canFilterVlans === false ? [node] : [])));
  const impossible = needsFiltering ? nodes.filter(({ node }) => unable.has(node)) : [];
  const unfiltered = needsFiltering ? nodes.filter((one) => !one.vlanFiltering && !unable.has(one.node)) : [];
  const down = nodes.filter(({ uplink }) => uplink === "down");
  const mtu = mtusDiffer(mtus);
  return [
    ...(away === undefined ? [] : [`no VM can land now: ${away.because}`]),
    ...(impossible.length === 0 ? [] : [`kernel can't filter VLANs ${where(impossible, nodes.length)}`]),
    ...(unfiltered.length === 0 ? [] : [`does not filter VLANs ${where(unfiltered, nodes.length)}`]),
    ...(down.length === 0 ? [] : [`uplink is down ${where(down, nodes.length)}`]),
    ...(mtu === undefined ? [] : [mtu]),
  ];
}

/** Undefined where they don't. */
export function mtusDiffer(mtus: readonly number[]): string | undefined {
  return mtus.length < 2 ? undefined : `MTU differs from node to node: ${mtus.slice(0, MAX_MTUS).join(", ")}`;
}

function notesOf({ on, networks, seesAll }: BridgeFacts): string[] {
  const all = on?.on ?? [];
  const closed = all.filter(isClosed);
  const place = closed.length === all.length ? "" : ` ${where(closed, all.length)}`;
  return [
    ...(all.length === 0 || networks > 0 || !seesAll ? [] : ["no network uses it"]),
    ...(closed.length === 0 ? [] : [`no uplink${place}: VMs reach only VMs of the same node`]),
  ];
}

function where(some: readonly { readonly node: string }[], total: number): string {
  return onSuchNodes(
    some.map(({ node }) => node),
    total,
  );
}

function oneOrMixed<T>(values: ReadonlySet<T>): T | "mixed" | undefined {
  return values.size > 1 ? "mixed" : [...values][0];
}

/** Nodes where the bridge is not set as on most. */
function exceptionsOf(nodes: readonly BridgeOnNodeView[]): BridgeOnNodeView[] {
  const settingsOf = ({ mtu, vlanFiltering, uplink, notNow }: BridgeOnNodeView): string =>
    `${mtu} ${vlanFiltering} ${uplink} ${notNow}`;
  const counts = new Map<string, number>();
  for (const node of nodes) counts.set(settingsOf(node), (counts.get(settingsOf(node)) ?? 0) + 1);
  const [usual] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [];
  return nodes.filter((node) => settingsOf(node) !== usual).slice(0, MAX_EXCEPTIONS);
}
