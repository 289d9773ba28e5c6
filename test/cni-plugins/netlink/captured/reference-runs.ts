/** Calls of the Go reference plugins, and what each of their requests does that changes something. */

import type { Group } from "./captures.ts";

export interface ReferenceRun {
  readonly plugin: "bridge" | "tuning";
  readonly command: "ADD" | "DEL";
  readonly config: object;
  /** Requests of nftables, which the reference has `nft` send, instead of those about links and addresses. */
  readonly ofNftables?: boolean;
  /** A script in the node's namespace. */
  readonly before: string;
  /** In their order, without those that an earlier call has too, and one that only tries something. More may follow where the kernel filters VLANs. */
  readonly steps: readonly (readonly [Group, string] | undefined)[];
}

const LAYER_2 = { cniVersion: "1.0.0", name: "br0-net", type: "bridge", bridge: "br0" };

const STATIC = {
  type: "static",
  addresses: [{ address: "10.9.0.7/20", gateway: "10.9.0.1" }, { address: "fd00::7/64" }],
  routes: [
    { dst: "10.77.0.0/16", gw: "10.9.0.9" },
    { dst: "10.79.0.0/16", gw: "10.9.0.9", priority: 500, table: 1000 },
    { dst: "10.78.0.0/16", gw: "10.9.0.1", scope: 0, table: 200 },
    { dst: "fd00:77::/32", gw: "fd00::1", priority: 500 },
  ],
};

const CHECKED = { ...LAYER_2, macspoofchk: true, runtimeConfig: { mac: "02:00:00:00:00:99" } };
const MASQUERADED = {
  ...LAYER_2,
  ipMasq: true,
  ipMasqBackend: "nftables",
  ipam: { type: "static", addresses: [{ address: "10.9.0.7/20" }, { address: "fd00::7/64" }] },
};
const TUNED = { mac: "02:00:00:00:00:99", mtu: 1400, promisc: true, allmulti: true, txQLen: 500 };

/** The kernel may have no VLAN filtering: the port's VLAN is asked for nevertheless, and the call ends there. */
const PLAIN_BRIDGE = "ip link add br0 index 300 type bridge";

const OF_EARLIER_CALLS = [undefined, undefined, undefined, undefined, undefined, undefined];

export const askedOfReference: readonly ReferenceRun[] = [
  {
    plugin: "bridge",
    command: "ADD",
    config: { ...LAYER_2, mtu: 1400, hairpinMode: true, portIsolation: true, ipam: STATIC },
    before: "true",
    steps: [
      ["link", "create the bridge with an MTU"],
      ["link", "bring the bridge up"],
      ["link", "create the pair with an MTU, from inside the container"],
      ["link", "bring the port up"],
      ["link", "make the host's end a port of the bridge"],
      ["port", "let the port send frames back"],
      ["port", "isolate the port"],
      ["address", "add the IPv4 address"],
      ["address", "add the IPv6 address"],
      ["link", "bring the container's end up"],
      ["address", "add a route"],
      ["address", "add a route with priority and table"],
      ["address", "add a route in a table with a short number"],
      ["address", "add an IPv6 route with priority"],
    ],
  },
  {
    plugin: "bridge",
    command: "ADD",
    config: { ...LAYER_2, promiscMode: true },
    before: PLAIN_BRIDGE,
    steps: [
      ["link", "create the bridge"],
      ["link", "make the bridge promiscuous"],
      undefined,
      ["link", "create the pair, from inside the container"],
      undefined,
      undefined,
      ["port", "let the port not send frames back"],
      ["port", "let the port not be isolated"],
      undefined,
    ],
  },
  { plugin: "bridge", command: "DEL", config: LAYER_2, before: "true", steps: [["link", "delete the pair"]] },
  {
    plugin: "bridge",
    command: "ADD",
    config: { ...LAYER_2, vlan: 300 },
    before: PLAIN_BRIDGE,
    steps: [["link", "create the bridge that filters VLANs"], ...OF_EARLIER_CALLS, ["vlan", "add the access VLAN"]],
  },
  {
    plugin: "bridge",
    command: "ADD",
    config: { ...LAYER_2, vlanTrunk: [{ id: 300 }] },
    before: PLAIN_BRIDGE,
    steps: [undefined, ...OF_EARLIER_CALLS, ["vlan", "add a VLAN of the trunk"]],
  },
  {
    plugin: "tuning",
    command: "ADD",
    config: { cniVersion: "1.0.0", name: "br0-net", type: "tuning", ...TUNED },
    before: "true",
    steps: [
      ["link", "set the MAC"],
      ["link", "set promiscuous mode"],
      ["link", "set the MTU"],
      ["link", "set all-multicast mode"],
      ["link", "set the transmit queue's length"],
    ],
  },
  {
    plugin: "bridge",
    command: "ADD",
    config: CHECKED,
    ofNftables: true,
    before: "true",
    steps: [
      ["nftables", "make the table"],
      ["nftables", "make the base chain"],
      ["nftables", "make the port's chain"],
      ["nftables", "make the MAC's chain"],
      ["nftables", "empty the port's chain"],
      ["nftables", "empty the MAC's chain"],
      ["nftables", "send the port's frames to its chain"],
      ["nftables", "send them on to the MAC's chain"],
      ["nftables", "let the MAC pass"],
      ["nftables", "drop others"],
    ],
  },
  {
    plugin: "bridge",
    command: "DEL",
    config: CHECKED,
    ofNftables: true,
    before: "true",
    steps: [
      ["nftables", "delete the port's rule"],
      ["nftables", "delete the port's chain"],
      ["nftables", "delete the MAC's chain"],
    ],
  },
  {
    plugin: "bridge",
    command: "ADD",
    config: MASQUERADED,
    ofNftables: true,
    before: "true",
    steps: [
      undefined,
      ["nftables", "make the table for masquerading"],
      ["nftables", "make the chain for addresses"],
      ["nftables", "make the base chain for masquerading"],
      ["nftables", "empty the base chain"],
      ["nftables", "leave multicast alone"],
      ["nftables", "leave IPv6 multicast alone"],
      ["nftables", "go on to the addresses"],
      ["nftables", "masquerade the IPv4 address"],
      ["nftables", "masquerade the IPv6 address"],
    ],
  },
];

/** On a kernel that filters VLANs. */
export const askedInGuest: readonly ReferenceRun[] = [
  {
    plugin: "bridge",
    command: "ADD",
    config: { ...LAYER_2, vlan: 300, vlanTrunk: [{ id: 20 }] },
    before: "true",
    steps: [
      undefined,
      ...OF_EARLIER_CALLS,
      ["vlan", "remove the bridge's default VLAN"],
      ["vlan", "add the native VLAN of a trunk"],
      ["vlan", "add a VLAN beside the native one"],
    ],
  },
];
