/** What is to be read in the kernel's answers in `replies.json`, which strace captured, by what it was asked. */

export type Expected = Readonly<Record<string, readonly object[]>>;

const ALIAS = "cni-bridge:br0-net/container/net1";

/** IFF_UP, IFF_BROADCAST, IFF_RUNNING, IFF_MULTICAST, IFF_LOWER_UP */
const RUNNING = 0x11043;
const IFF_PROMISC = 0x100;

const PORT = {
  index: 700,
  name: "v0",
  kind: "veth",
  flags: RUNNING | IFF_PROMISC,
  up: true,
  operState: 6,
  mac: "02:00:00:00:00:07",
  mtu: 1400,
  master: 300,
  peer: 701,
  alias: ALIAS,
  promiscuity: 2,
  bridgePort: { hairpin: true, isolated: true },
  txQueueLength: 500,
  minimum: 68,
  maximum: 65535,
};

const BRIDGE = {
  index: 300,
  name: "br0",
  kind: "bridge",
  flags: RUNNING,
  up: true,
  operState: 6,
  mac: "02:00:00:00:00:01",
  mtu: 1400,
  master: 0,
  peer: 0,
  alias: "",
  promiscuity: 0,
  minimum: 68,
  maximum: 65535,
};

const address = (index: number, text: string, length: number, flags: object = {}): object => ({
  ...{ index, address: text, length, tentative: false, duplicate: false },
  ...flags,
});

/**
 * A port whose every property is set; addresses, that of a link which is down and one that another link has among them;
 * routes. Operational states and the duplicate are found some time after they are made.
 */
export const LINKS_AND_ADDRESSES: Expected = {
  "ip link show dev v0": [PORT],
  "ip link show dev br0": [BRIDGE],
  "ip link show master br0": [PORT],
  "ip link show dev v4": [{ index: 900, bridgePort: { hairpin: false, isolated: true } }],
  "ip link show dev v5": [{ index: 901, bridgePort: { hairpin: true, isolated: false } }],
  "ip -4 address show dev v4": [address(900, "10.7.0.1", 32)],
  "ip -4 address show dev v2": [address(800, "10.9.0.7", 20)],
  "ip -6 address show dev v2": [address(800, "fd00::7", 64)],
  "ip -6 address show dev v4": [address(900, "fd00::8", 64, { tentative: true })],
  "ip -6 address show dev v3": [address(801, "fd00::7", 64, { tentative: true, duplicate: true })],
  "ip -4 route show table 1000": [{ table: 1000, destination: "10.77.0.0", length: 16, gateways: ["10.9.0.1"] }],
  "ip -4 route show table 200": [{ table: 200, destination: "", length: 0, gateways: ["10.9.0.1"] }],
  "ip -6 route show table 1000": [{ table: 1000, destination: "fd00:77::", length: 32, gateways: ["fd00::1"] }],
  "ip link add br1 mtu 20 type bridge": [{ errno: 22, text: "mtu less than device minimum" }],
  "ip link add br0 type bridge": [{ errno: 17, text: "" }],
  "ip link show dev none": [{ errno: 19, text: "" }],
  "ip address add 10.9.0.7/20 dev v2": [{ errno: 17, text: "ipv4: Address already assigned" }],
  "ip route prepend 10.80.0.0/16 via 192.0.2.1 dev v2": [{ errno: 101, text: "Nexthop has invalid gateway" }],
};

export const NFTABLES: Expected = {
  "nft list tables": [{ dormant: true }, { dormant: false }],
  "nft list table bridge nat": [{ type: "filter", hook: 0, priority: -300 }, { hook: "none" }],
  "nft list chain bridge nat PREROUTING": [
    {
      handle: 3,
      comment: "macspoofchk-c1-eth0",
      leadsTo: "macs",
      terms: ["meta 6 == 76:65:74:68:30:31:32:33:34:35:36:37:00:00:00:00", "jump macs"],
    },
  ],
  "nft list chain bridge nat macs": [
    { handle: 4, comment: "", leadsTo: "", terms: ["payload 0 6 6 == 02:00:00:00:00:01", "return"] },
    { handle: 5, comment: "others", leadsTo: "", terms: ["drop"] },
  ],
};

/** For a kernel with VLAN filtering. */
export const VLANS: Expected = {
  "ip link show dev br0": [{ index: 300, bridgeVlans: { filtering: true, defaultVlan: 5 } }],
  "bridge -compressvlans vlan show": [
    { index: 300, name: "br0", vlans: ["5 PVID Egress Untagged"] },
    { index: 700, name: "v700", master: 300, vlans: ["5 PVID Egress Untagged"] },
    { index: 701, name: "v701", master: 300, vlans: ["300 PVID", "301 Egress Untagged"] },
    { index: 702, name: "v702", master: 300, vlans: ["5 PVID Egress Untagged", "20", "30-4094"] },
  ],
  "bridge vlan add dev br0 vid 7 master": [{ errno: 95, text: "" }],
};
