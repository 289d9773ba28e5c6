import type { BridgeConfig } from "../../cni-plugins/bridge/config.ts";
import type { VlanConfig } from "../../cni-plugins/bridge/vlan-config.ts";
import { onSuchNodes } from "../api/network-text.ts";
import { type Finding, finding } from "./finding.ts";

/** Whether a network fits the bridges as the nodes have set them. */

/** A bridge that a node publishes. */
export interface BridgeOnNode {
  readonly node: string;
  readonly mtu: number;
  readonly vlanFiltering: boolean;
  /** False: the kernel can't. */
  readonly canFilterVlans?: boolean;
  /** Its ports that lead out of the node. `vlans`: ranges such as "100-110"; undefined where they are not known. */
  readonly uplinks?: readonly { readonly name: string; readonly vlans?: readonly string[] }[];
  /** Whether the node has an address on it, and so leads out by its routes. */
  readonly hasAddress?: boolean;
}

/** Names of nodes have up to 253 characters. */
const MAX_NODE_CHARS = 40;

/** What the plugin gives pods without `mtu`, unless the bridge has less. */
export const USUAL_MTU = 1500;

/** `known`: undefined or empty where no node reports the bridge's settings. A note then says what they have to be. */
export function checkNodes(config: BridgeConfig, known: readonly BridgeOnNode[] | undefined, place: string): Finding[] {
  const { bridge, vlans, mtu } = config;
  const on = known?.length === 0 ? undefined : known;
  return [
    ...(vlans === undefined || on === undefined ? [] : checkKernels(on)),
    ...(vlans === undefined || vlans.enableFiltering ? [] : checkFiltering(bridge, vlans, on)),
    ...(vlans === undefined || on === undefined ? [] : checkUplinks(bridge, vlans, on)),
    ...(mtu === "inherit" ? [] : checkMtu(bridge, mtu, on)),
  ].map(({ code, message }) => finding(code, place + message));
}

/** A bridge without an uplink may be meant so, and a network can do nothing about it. */
export function noteUplinks(bridge: string, on: readonly BridgeOnNode[] = [], place: string): Finding[] {
  const closed = on.filter(({ uplinks, hasAddress }) => uplinks?.length === 0 && hasAddress !== true);
  if (closed.length === 0) return [];
  const where = closed.length === on.length ? "" : ` ${onSuchNodes(closed.map(nameOf), on.length)}`;
  return [finding("no-uplink", `${place}${bridge} has no uplink${where}: VMs reach only VMs of the same node.`)];
}

/** What an interface of a pair can have. */
const [SMALLEST_MTU, LARGEST_MTU] = [68, 65_535];

/** What happens to a VM of a network on a node that publishes the bridge. Warning: it starts, and not all is as the network says. */
export function verdictOnNode(config: BridgeConfig, on: BridgeOnNode): "Works" | "Warning" | "Fails" {
  const said = checkNodes(config, [on], "");
  if (said.length === 0) return "Works";
  if (said.some(({ code }) => code === "vlan-impossible")) return "Fails";
  const refuses = config.vlans?.requireFiltering === true && !config.vlans.enableFiltering;
  return refuses && said.some(({ code }) => code === "vlan-unfiltered") ? "Fails" : "Warning";
}

/** `mtu`: what a plugin after `bridge` gives the pod's end of the pair; the port keeps what `bridge` gave it. */
export function checkTunedMtu(
  { bridge, mtu: made = USUAL_MTU }: BridgeConfig,
  mtu: number,
  known: readonly BridgeOnNode[] | undefined,
  place: string,
): Finding[] {
  if (mtu < SMALLEST_MTU || mtu > LARGEST_MTU) {
    const advice = `Write a number from ${SMALLEST_MTU} to ${LARGEST_MTU}.`;
    return [finding("plugin-refuses", `${place}the kernel refuses "mtu": ${mtu}: pods will not start. ${advice}`)];
  }
  if (made === "inherit") {
    const said = checkMtu(bridge, mtu, known?.length === 0 ? undefined : known);
    const above = said.filter(({ code }) => code !== "mtu-below-bridge");
    return above.map(({ code, message }) => finding(code, place + message));
  }
  if (mtu <= made) return [];
  const message = `"mtu": ${mtu} is more than the pod's port has (${made}): larger frames are dropped. Write "mtu": ${mtu} for the bridge plugin.`;
  return [finding("mtu-above-port", place + message)];
}

type Said = Pick<Finding, "code" | "message">;

/** The plugin refuses a VLAN there, whatever the network says about filtering. */
function checkKernels(on: readonly BridgeOnNode[]): Said[] {
  const lacking = on.filter(({ canFilterVlans }) => canFilterVlans === false);
  if (lacking.length === 0) return [];
  const where = onSuchNodes(lacking.map(nameOf), on.length);
  const message =
    `the kernel can't filter VLANs ${where}: pods do not start there. ` +
    'Use a kernel with CONFIG_BRIDGE_VLAN_FILTERING there, or a network without "vlan" and "vlanTrunk".';
  return [{ code: "vlan-impossible", message }];
}

function checkFiltering(bridge: string, vlans: VlanConfig, on: readonly BridgeOnNode[] | undefined): Said[] {
  const { requireFiltering } = vlans;
  if (on === undefined) {
    const message =
      `${bridge} has to filter VLANs (vlan_filtering 1). Where it does not, the plugin only warns, and pods are not kept in ` +
      'their VLAN. Write "requireVlanFiltering": true to make the plugin refuse.';
    return requireFiltering ? [] : [{ code: "vlan-needs-filtering", message }];
  }
  const without = on.filter(({ vlanFiltering, canFilterVlans }) => !vlanFiltering && canFilterVlans !== false);
  if (without.length === 0) return [];
  const consequence = requireFiltering ? "Pods do not start there" : "Pods are not kept in their VLAN there";
  const advice = requireFiltering ? "" : ', or write "enableVlanFiltering": true';
  const where = onSuchNodes(without.map(nameOf), on.length);
  const message = `${bridge} does not filter VLANs ${where}. ${consequence}. Set vlan_filtering 1 on the bridge${advice}.`;
  return [{ code: "vlan-unfiltered", message }];
}

/** The VLANs of a network that none of the bridge's uplinks passes. A bridge without uplinks is meant to have none. */
function checkUplinks(bridge: string, { access, trunk }: VlanConfig, on: readonly BridgeOnNode[]): Said[] {
  const wanted = access === 0 ? trunk : [access, ...trunk];
  const known = new Map<string, readonly number[]>();
  const lacking = on.flatMap((one) => {
    const { vlanFiltering, uplinks = [] } = one;
    const [first] = uplinks;
    if (!vlanFiltering || first === undefined || uplinks.some(({ vlans }) => vlans === undefined)) return [];
    // A trunk has up to 4,094 VLANs, and most nodes pass the same.
    const passed = [...new Set(uplinks.flatMap(({ vlans = [] }) => vlans))].join();
    const missing = known.get(passed) ?? without(wanted, passed.split(","));
    known.set(passed, missing);
    return missing[0] === undefined ? [] : [{ one, uplink: first.name, id: missing[0], more: missing.length - 1 }];
  });
  const [first] = lacking;
  if (first === undefined) return [];
  const { uplink, id, more } = first;
  const ids = more === 0 ? `VLAN ${id}` : `VLAN ${id} and ${more} more`;
  const where = onSuchNodes(
    lacking.map(({ one }) => nameOf(one)),
    on.length,
  );
  const message =
    `no uplink of ${bridge} passes ${ids} ${where}: its frames do not leave the node. ` +
    `Add the VLAN to the uplink there, as with "bridge vlan add dev ${uplink} vid ${id}".`;
  return [{ code: "vlan-not-on-uplink", message }];
}

/** `ranges`: as a node reports them, such as "100-110". */
export function hasVlan(ranges: readonly string[], id: number): boolean {
  return ranges.some((range) => {
    const { first, last } = boundsOf(range);
    return first <= id && id <= last;
  });
}

/** The VLANs that are in none of the ranges. */
function without(vlans: readonly number[], ranges: readonly string[]): number[] {
  const bounds = ranges.map(boundsOf);
  return vlans.filter((id) => !bounds.some(({ first, last }) => first <= id && id <= last));
}

function boundsOf(range: string): { readonly first: number; readonly last: number } {
  const [first = "", last = first] = range.split("-");
  return { first: Number(first), last: Number(last) };
}

function checkMtu(bridge: string, given: number | undefined, on: readonly BridgeOnNode[] | undefined): Said[] {
  const mtu = given ?? USUAL_MTU;
  const advice = 'Write "mtu": "inherit" to take the MTU of the bridge';
  if (on === undefined) {
    if (given === undefined) return [];
    const message = `${bridge} drops frames that are larger than its own MTU, if that is below ${mtu}. ${advice}.`;
    return [{ code: "mtu-needs-bridge", message }];
  }
  const where = (nodes: readonly BridgeOnNode[]): string =>
    onSuchNodes(
      nodes.map((one) => `${nameOf(one)} (${one.mtu})`),
      on.length,
    );
  const smaller = given === undefined ? [] : on.filter((one) => one.mtu < mtu);
  const larger = on.filter((one) => one.mtu > mtu);
  const said: Said[] = [];
  if (smaller.length > 0) {
    const message = `${bridge} has an MTU below ${mtu} ${where(smaller)}. Larger frames are dropped there. ${advice}, or raise that.`;
    said.push({ code: "mtu-above-bridge", message });
  }
  if (larger.length > 0) {
    const lowered = given === undefined ? "" : ", and it is lowered for all ports if nobody has set it";
    const message = `${bridge} has an MTU above ${mtu} ${where(larger)}: pods lose larger frames${lowered}. ${advice}.`;
    said.push({ code: "mtu-below-bridge", message });
  }
  return said;
}

function nameOf({ node }: BridgeOnNode): string {
  return node.length > MAX_NODE_CHARS ? `${node.slice(0, MAX_NODE_CHARS)}...` : node;
}
