import { nodesOf, VERDICT_TEXTS, vlanText as vlansOf } from "../../api/network-text.ts";
import type { BridgeView, NetworkNodesView, NetworkView, Verdict } from "../../mac-pool/inspection/rest/views.ts";
import { count, counted } from "../text.ts";

/** How bridges and networks are set, in words. */

/** Where the answers count the nodes of a verdict, and the style of one. */
export const keyOf = (verdict: Verdict) =>
  (verdict.charAt(0).toLowerCase() + verdict.slice(1)) as Exclude<keyof NetworkNodesView, "total">;

export const VERDICTS = Object.entries(VERDICT_TEXTS).map(([verdict, texts]) => ({
  ...texts,
  verdict: verdict as Verdict,
}));

/** `100`, `trunk 100-110`, `none`, and nothing of a network of another plugin. */
export const vlanText = (network: NetworkView): string =>
  network.bridge === undefined ? "" : vlansOf(network) || "none";

/** `br1, VLAN 100`; empty where the network leads to no bridge, or nobody says. */
export function segmentText({ bridge, ...vlans }: Pick<NetworkView, "bridge" | "vlan" | "trunk">): string {
  if (bridge === undefined) return "";
  const vlan = vlansOf(vlans);
  return vlan === "" ? bridge : `${bridge}, VLAN ${vlan}`;
}

export function mtuText({ bridge, mtu }: NetworkView): string {
  if (bridge === undefined) return "";
  return `${mtu ?? "≤\u00a01500"}`;
}

export const filteringText = ({ filtering }: BridgeView): string =>
  filtering === undefined ? "" : `filtering ${filtering}`;

/** What a bridge has on a node and not on all others, where something is amiss: `MTU 9000, filtering off, uplink down`. */
export function differences({ mtus, filtering, uplink }: BridgeView, on: BridgeView["on"][number]): string {
  return [
    ...(mtus.length > 1 ? [`MTU ${on.mtu}`] : []),
    ...(filtering === "mixed" && !on.vlanFiltering ? ["filtering off"] : []),
    ...(uplink === "mixed" && on.uplink === "down" ? ["uplink down"] : []),
    ...(uplink === "mixed" && on.uplink === "none" ? ["no uplink"] : []),
  ].join(", ");
}

/** `on 399 of 1,000 nodes`, `on node-3, node-7 (2 running VMs) and 4 more`; nothing where no node has the verdict. */
export function nodesText({ nodes, cells }: NetworkView, verdict: Verdict): string {
  const own = cells.filter((cell) => cell.verdict === verdict);
  const total = Math.max(nodes[keyOf(verdict)], own.length);
  if (total === 0) return "";
  const named = verdict === "NoBridge" ? [] : own.slice(0, MAX_NAMES);
  const names = named.map(({ node, running }) =>
    running === 0 ? node : `${node} (${counted(running, "running VM")})`,
  );
  const rest = total - names.length;
  if (names.length > 0) return `on ${names.join(", ")}${rest > 0 ? ` and ${count(rest)} more` : ""}`;
  return verdict === "NoBridge" ? `on ${count(total)}` : `on ${nodesOf(total, nodes.total)}`;
}

const MAX_NAMES = 8;
