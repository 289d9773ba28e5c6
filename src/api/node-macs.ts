/**
 * NodeMACs: the addresses of one node's own interfaces, how its bridges are set, and the stations beyond their uplinks that
 * have addresses of pools, as its bridge-marker reports them. It has the name of the node and is owned by it, so that it goes
 * with the node. There is no status subresource: all of it is a report.
 */

import * as z from "zod";
import { canonicalMac } from "./canonical-mac.ts";
import { celRules } from "./cel.ts";
import { MAX_NODE_BRIDGES, MAX_NODE_MACS, MAX_UPLINKS } from "./node-report.ts";
import { MAX_STATIONS, MAX_VLAN_RANGES } from "./node-state.ts";
import type { ObjectMeta } from "./object-meta.ts";

/** What the kernel can hold: a bridge without ports takes any. */
const MAX_MTU = 2 ** 31 - 1;

const MAX_VLAN = 4094;

/** IFNAMSIZ without the closing nul. */
const MAX_INTERFACE_NAME = 15;

function interfaceName(field: string) {
  const message = `${field} must consist of printable ASCII characters, without spaces and slashes`;
  return z
    .string()
    .min(1)
    .max(MAX_INTERFACE_NAME)
    .meta(celRules({ rule: "self.matches('^[!-.0-~]*$')", message }));
}

const nodeMacSchema = z
  .object({
    mac: canonicalMac,
    interface: interfaceName("interface").describe(
      "Physical interface or bond that has the address. Characters that can't be shown are question marks.",
    ),
  })
  .describe("An address and the interface that has it.");

const VLAN_RANGE = "^[0-9]{1,4}(-[0-9]{1,4})?$";

const vlanRange = z
  .string()
  .max(9)
  .meta(celRules({ rule: `self.matches('${VLAN_RANGE}')`, message: "vlans must be ranges such as 100-110" }));

const nodeUplinkSchema = z
  .object({
    name: interfaceName("name").describe(
      "Physical interface, bond, or VLAN of one. Characters that can't be shown are question marks.",
    ),
    carrier: z.boolean().describe("Whether the other end of the wire is up."),
    mtu: z.int().min(0).max(MAX_MTU).describe("Larger frames do not leave the node."),
    vlans: z
      .array(vlanRange)
      .max(MAX_VLAN_RANGES)
      .exactOptional()
      .describe(
        'VLANs whose frames pass, where the bridge filters, in ranges such as "100-110". Absent where there are too many ranges.',
      )
      .meta({ "x-kubernetes-list-type": "atomic" }),
    untaggedVlan: z.int().min(1).max(MAX_VLAN).exactOptional().describe("VLAN of frames that arrive without a tag."),
  })
  .describe("A port of a bridge that leads out of the node.");

const nodeBridgeSchema = z
  .object({
    name: interfaceName("name").describe("Bridge that the node publishes as a resource."),
    mtu: z.int().min(0).max(MAX_MTU).describe("Larger frames are dropped."),
    vlanFiltering: z.boolean().describe("Whether the bridge keeps VLANs apart."),
    canFilterVlans: z
      .boolean()
      .exactOptional()
      .describe("False where the node's kernel can't filter VLANs: no pod of a network with a VLAN starts there."),
    defaultVlan: z
      .int()
      .min(0)
      .max(MAX_VLAN)
      .exactOptional()
      .describe("VLAN of a new port, where the bridge filters; 0 for none."),
    spanningTree: z.boolean().exactOptional().describe("Whether the bridge takes part in the spanning tree protocol."),
    hasAddress: z.boolean().exactOptional().describe("Whether the node itself has an address on the bridge."),
    uplinks: z
      .array(nodeUplinkSchema)
      .max(MAX_UPLINKS)
      .exactOptional()
      .describe("Ports that lead out of the node.")
      .meta({ "x-kubernetes-list-type": "atomic" }),
  })
  .describe("A bridge and how it is set.");

/** A time in UTC with whole seconds. */
const MAX_TIME_CHARS = 20;

const stationTime = () => z.iso.datetime().max(MAX_TIME_CHARS);

const stationSchema = z
  .object({
    mac: canonicalMac,
    bridge: interfaceName("bridge").describe("Bridge that has learned the address."),
    uplink: interfaceName("uplink").describe("Uplink of the bridge where it was learned."),
    vlan: z.int().min(1).max(MAX_VLAN).exactOptional().describe("VLAN of its frames, where the bridge filters."),
    lastSeen: stationTime().describe(
      "When the node got a frame from there. A report that changes brings it up to date, and every report after ten minutes.",
    ),
    lastFlap: stationTime()
      .exactOptional()
      .describe(
        "When the address moved from a port of the node to the uplink for the third time within a minute: a machine on " +
          "this node and another one beyond the uplink use it.",
      ),
  })
  .describe("An address that a bridge has learned at an uplink.");

export const nodeMacsSchema = z
  .object({
    addresses: z
      .array(nodeMacSchema)
      .max(MAX_NODE_MACS)
      .describe("Addresses of the node's physical interfaces and bonds, each once.")
      // A report replaces the one before. Of a list by keys, an apply of none would leave no list at all, which is invalid.
      .meta({ "x-kubernetes-list-type": "atomic" }),
    bridges: z
      .array(nodeBridgeSchema)
      .max(MAX_NODE_BRIDGES)
      .exactOptional()
      .describe("The bridges that the node publishes. A user who writes a network that does not fit them is warned.")
      .meta({ "x-kubernetes-list-type": "atomic" }),
    stations: z
      .array(stationSchema)
      .max(MAX_STATIONS)
      .exactOptional()
      .describe(
        "Addresses in the ranges of MACPools that the published bridges have learned at their uplinks in the last ten minutes, " +
          "also those of this cluster's VMs on other nodes; of addresses outside the ranges those with lastFlap.",
      )
      .meta({ "x-kubernetes-list-type": "atomic" }),
    moreStations: z
      .int()
      .min(0)
      .exactOptional()
      .describe("How many more there are. Each node reports others of them than its neighbours."),
  })
  .describe(
    "MAC addresses of one node's own interfaces, its bridges and what they have learned, written by its bridge-marker. MAC pools give none of " +
      "the addresses out, and hostAddressPolicy of a MACPool says what happens to an object that asks for one.",
  );

export type NodeMac = z.infer<typeof nodeMacSchema>;

export type NodeUplink = z.infer<typeof nodeUplinkSchema>;

export type NodeBridge = z.infer<typeof nodeBridgeSchema>;

export type NodeStation = z.infer<typeof stationSchema>;

export type NodeMACs = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly addresses: readonly NodeMac[];
  readonly bridges?: readonly NodeBridge[];
  readonly stations?: readonly NodeStation[];
  readonly moreStations?: number;
};
