/** What the kernel was asked for its answers in `replies.json`, and what is to be read in them. */

import { NLMSG_ERROR, RTM_NEWADDR, RTM_NEWLINK, RTM_NEWROUTE } from "../../../../cni-plugins/netlink/rtnetlink.ts";
import { NFT_MSG_NEWCHAIN, NFT_MSG_NEWRULE, NFT_MSG_NEWTABLE } from "./nft-commands.ts";
import type { Scene } from "./replies.ts";

export interface ExpectedScene extends Scene {
  readonly expected: Readonly<Record<string, readonly object[]>>;
}

const ALIAS = "cni-bridge:br0-net/container/net1";

const sceneOf = (prepared: string, all: readonly (readonly [number, string, readonly object[]])[]): ExpectedScene => ({
  prepared,
  asked: all.map(([type, command]) => [type, command]),
  expected: Object.fromEntries(all.map(([, command, read]) => [command, read])),
});

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
export const LINKS_AND_ADDRESSES = sceneOf(
  `ip link add br0 index 300 address 02:00:00:00:00:01 type bridge && ip link set br0 up &&
  ip link add v0 index 700 address 02:00:00:00:00:07 txqueuelen 500 mtu 1400 type veth peer name v1 index 701 &&
  ip link set v0 master br0 alias ${ALIAS} promisc on up && ip link set v1 up &&
  bridge link set dev v0 hairpin on isolated on &&
  ip link add v2 index 800 type veth peer name v3 index 801 && ip link set v2 addrgenmode none &&
  ip link set v3 addrgenmode none && ip link set v3 up && ip link set v2 up &&
  ip link add br2 type bridge && ip link add v4 index 900 master br2 type veth peer name v5 index 901 &&
  ip link set v5 master br2 && bridge link set dev v4 isolated on && bridge link set dev v5 hairpin on &&
  ip address add 10.7.0.1 peer 10.7.0.2/32 dev v4 && ip address add fd00::8/64 dev v4 &&
  ip address add 10.9.0.7/20 brd + dev v2 && ip address add fd00::7/64 nodad dev v2 &&
  ip route add 10.77.0.0/16 via 10.9.0.1 dev v2 table 1000 && ip route add default via 10.9.0.1 dev v2 table 200 &&
  ip -6 route add fd00:77::/32 via fd00::1 dev v2 table 1000 &&
  ip address add fd00::7/64 dev v3 &&
  for link in br0 v0; do until ip link show $link | grep -q "state UP"; do :; done; done
  until ip address show v3 | grep -q dadfailed; do :; done`,
  [
    [RTM_NEWLINK, "ip link show dev v0", [PORT]],
    [RTM_NEWLINK, "ip link show dev br0", [BRIDGE]],
    [RTM_NEWLINK, "ip link show master br0", [PORT]],
    [RTM_NEWLINK, "ip link show dev v4", [{ index: 900, bridgePort: { hairpin: false, isolated: true } }]],
    [RTM_NEWLINK, "ip link show dev v5", [{ index: 901, bridgePort: { hairpin: true, isolated: false } }]],
    [RTM_NEWADDR, "ip -4 address show dev v4", [address(900, "10.7.0.1", 32)]],
    [RTM_NEWADDR, "ip -4 address show dev v2", [address(800, "10.9.0.7", 20)]],
    [RTM_NEWADDR, "ip -6 address show dev v2", [address(800, "fd00::7", 64)]],
    [RTM_NEWADDR, "ip -6 address show dev v4", [address(900, "fd00::8", 64, { tentative: true })]],
    [RTM_NEWADDR, "ip -6 address show dev v3", [address(801, "fd00::7", 64, { tentative: true, duplicate: true })]],
    [
      RTM_NEWROUTE,
      "ip -4 route show table 1000",
      [{ table: 1000, destination: "10.77.0.0", length: 16, gateways: ["10.9.0.1"] }],
    ],
    [RTM_NEWROUTE, "ip -4 route show table 200", [{ table: 200, destination: "", length: 0, gateways: ["10.9.0.1"] }]],
    [
      RTM_NEWROUTE,
      "ip -6 route show table 1000",
      [{ table: 1000, destination: "fd00:77::", length: 32, gateways: ["fd00::1"] }],
    ],
    [NLMSG_ERROR, "ip link add br1 mtu 20 type bridge", [{ errno: 22, text: "mtu less than device minimum" }]],
    [NLMSG_ERROR, "ip link add br0 type bridge", [{ errno: 17, text: "" }]],
    [NLMSG_ERROR, "ip link show dev none", [{ errno: 19, text: "" }]],
    [NLMSG_ERROR, "ip address add 10.9.0.7/20 dev v2", [{ errno: 17, text: "ipv4: Address already assigned" }]],
    [
      NLMSG_ERROR,
      "ip route prepend 10.80.0.0/16 via 192.0.2.1 dev v2",
      [{ errno: 101, text: "Nexthop has invalid gateway" }],
    ],
  ],
);

export const NFTABLES = sceneOf(
  `nft 'add table inet asleep { flags dormant; }
  add table bridge nat
  add chain bridge nat PREROUTING { type filter hook prerouting priority -300; }
  add chain bridge nat macs
  add rule bridge nat PREROUTING iifname veth01234567 jump macs comment "macspoofchk-c1-eth0"
  add rule bridge nat macs counter ether saddr 02:00:00:00:00:01 return
  add rule bridge nat macs drop comment "others"'`,
  [
    [NFT_MSG_NEWTABLE, "nft list tables", [{ dormant: true }, { dormant: false }]],
    [NFT_MSG_NEWCHAIN, "nft list table bridge nat", [{ type: "filter", hook: 0, priority: -300 }, { hook: "none" }]],
    [
      NFT_MSG_NEWRULE,
      "nft list chain bridge nat PREROUTING",
      [
        {
          handle: 3,
          comment: "macspoofchk-c1-eth0",
          leadsTo: "macs",
          terms: ["meta 6 == 76:65:74:68:30:31:32:33:34:35:36:37:00:00:00:00", "jump macs"],
        },
      ],
    ],
    [
      NFT_MSG_NEWRULE,
      "nft list chain bridge nat macs",
      [
        { handle: 4, comment: "", leadsTo: "", terms: ["payload 0 6 6 == 02:00:00:00:00:01", "return"] },
        { handle: 5, comment: "others", leadsTo: "", terms: ["drop"] },
      ],
    ],
  ],
);

/** For a kernel with VLAN filtering. */
export const VLANS = sceneOf(
  `ip link add br0 index 300 type bridge vlan_filtering 1 vlan_default_pvid 5 &&
  for number in 700 701 702; do ip link add v$number index $number master br0 type dummy || exit; done
  bridge vlan add dev v701 vid 300 pvid && bridge vlan add dev v701 vid 301 untagged && bridge vlan del dev v701 vid 5 &&
  bridge vlan add dev v702 vid 20 && bridge vlan add dev v702 vid 30-4094`,
  [
    [RTM_NEWLINK, "ip link show dev br0", [{ index: 300, bridgeVlans: { filtering: true, defaultVlan: 5 } }]],
    [
      RTM_NEWLINK,
      "bridge -compressvlans vlan show",
      [
        { index: 300, name: "br0", vlans: ["5 PVID Egress Untagged"] },
        { index: 700, name: "v700", master: 300, vlans: ["5 PVID Egress Untagged"] },
        { index: 701, name: "v701", master: 300, vlans: ["300 PVID", "301 Egress Untagged"] },
        { index: 702, name: "v702", master: 300, vlans: ["5 PVID Egress Untagged", "20", "30-4094"] },
      ],
    ],
    [NLMSG_ERROR, "bridge vlan add dev br0 vid 7 master", [{ errno: 95, text: "" }]],
  ],
);
