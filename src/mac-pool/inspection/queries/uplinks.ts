import { onSuchNodes } from "../../../api/network-text.ts";
import type { NodeBridge } from "../../../api/node-macs.ts";
import type { BridgeOnNodeView, NetworkFindingView } from "../rest/network-views.ts";
import type { BridgeOnNodes } from "./node-bridges.ts";

/** Of a bridge on a node; undefined where the node does not say. */
export function uplinkOf({ uplinks }: NodeBridge): BridgeOnNodeView["uplink"] {
  if (uplinks === undefined) return undefined;
  if (uplinks.length === 0) return "none";
  return uplinks.some(({ carrier }) => carrier) ? "up" : "down";
}

/** A bridge with an address of the node is meant to lead out by the node, as by its routes. */
export function isClosed(bridge: NodeBridge): boolean {
  return uplinkOf(bridge) === "none" && bridge.hasAddress !== true;
}

/** What the VMs of a network lack that start all the same. A bridge without an uplink on any node is meant so. */
export function uplinkFindings({ name, on }: BridgeOnNodes): NetworkFindingView[] {
  const where = (some: readonly { readonly node: string }[]): string =>
    onSuchNodes(
      some.map(({ node }) => node),
      on.length,
    );
  const down = on.filter((bridge) => uplinkOf(bridge) === "down");
  const closed = on.some(({ uplinks = [] }) => uplinks.length > 0) ? on.filter(isClosed) : [];
  const outcome = "There, VMs of the network reach only VMs of the same node.";
  return [
    ...(down.length === 0
      ? []
      : [
          {
            code: "uplink-down",
            severity: "warning" as const,
            summary: `uplink is down ${where(down)}`,
            message: `bridge ${name}: its uplink has no carrier ${where(down)}. ${outcome} Find the uplink there with "ip link show master ${name}", set it up, and check its cable and the port of the switch.`,
          },
        ]),
    ...(closed.length === 0
      ? []
      : [
          {
            code: "uplink-missing",
            severity: "warning" as const,
            summary: `no uplink ${where(closed)}`,
            message: `bridge ${name}: no port leads out of the node ${where(closed)}. ${outcome} Add the uplink to the bridge there, as on the other nodes.`,
          },
        ]),
  ];
}
