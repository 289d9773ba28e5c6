/** What iproute2 is asked. */

import {
  RTM_DELADDR,
  RTM_DELLINK,
  RTM_GETADDR,
  RTM_GETLINK,
  RTM_GETROUTE,
  RTM_NEWADDR,
  RTM_NEWLINK,
  RTM_NEWROUTE,
  RTM_SETLINK,
} from "../../../../cni-plugins/netlink/rtnetlink.ts";
import type { Command } from "./captures.ts";

/** Numbers with two bytes, so that their order counts. */
export const PREPARED = `ip link add br0 index 300 type bridge && ip link set br0 up &&
  ip link add v0 index 700 type veth peer name v1 index 701 && ip link set v0 master br0 &&
  ip link add v2 index 800 type veth peer name v3 index 801 && ip link set v2 up && ip link set v3 up`;

const RTM_GETVLAN = 114;

export const askedOfIproute2: readonly Command[] = [
  ["link", RTM_NEWLINK, "ip link add br1 type bridge"],
  ["link", RTM_NEWLINK, "ip link add br2 mtu 1400 type bridge vlan_filtering 1"],
  ["link", RTM_NEWLINK, "ip link set br0 type bridge vlan_filtering 1"],
  ["link", RTM_NEWLINK, "ip link add veth01234567 master br0 type veth peer name net1 netns pod"],
  [
    "link",
    RTM_NEWLINK,
    "ip link add veth-net2 mtu 1400 master br0 type veth peer name net2 mtu 1400 netns pod address 02:00:00:00:00:99",
  ],
  ["link", RTM_NEWLINK, "ip link set v0 up"],
  ["link", RTM_NEWLINK, "ip link set v0 up alias cni-bridge:br1-net/container/net1"],
  ["link", RTM_NEWLINK, "ip link set v0 promisc on"],
  ["link", RTM_NEWLINK, "ip link set v0 promisc off"],
  ["link", RTM_NEWLINK, "ip link set v0 allmulticast on"],
  ["link", RTM_NEWLINK, "ip link set v0 allmulticast off"],
  ["link", RTM_NEWLINK, "ip link set v0 address 02:00:00:00:00:99"],
  ["link", RTM_NEWLINK, "ip link set v0 mtu 1400"],
  ["link", RTM_NEWLINK, "ip link set v0 txqueuelen 500"],
  ["link", RTM_NEWLINK, "ip link set v0 group 7000"],
  ["link", RTM_GETLINK, "ip link show"],
  ["link", RTM_GETLINK, "ip link show dev v0"],
  ["link", RTM_GETLINK, "ip link show master br0"],
  ["port", RTM_SETLINK, "bridge link set dev v0 hairpin on"],
  ["port", RTM_SETLINK, "bridge link set dev v0 isolated on"],
  ["port", RTM_SETLINK, "bridge link set dev v0 hairpin on isolated on"],
  ["port", RTM_SETLINK, "bridge link set dev v0 state 0"],
  ["vlan", RTM_SETLINK, "bridge vlan add dev v0 vid 300 pvid untagged master"],
  ["vlan", RTM_SETLINK, "bridge vlan add dev v0 vid 300 master"],
  ["vlan", RTM_SETLINK, "bridge vlan add dev v0 vid 30-4094 master"],
  ["vlan", RTM_DELLINK, "bridge vlan del dev v0 vid 1 master"],
  ["vlan", RTM_GETLINK, "bridge -compressvlans vlan show"],
  ["vlan", RTM_GETVLAN, "bridge -details vlan show dev br0"],
  ["address", RTM_NEWADDR, "ip address add 10.9.0.7/20 brd + dev v2"],
  ["address", RTM_NEWADDR, "ip address add 10.8.0.7/32 dev v2"],
  ["address", RTM_NEWADDR, "ip address add fd00::7/64 dev v2"],
  ["address", RTM_GETADDR, "ip -4 address show dev v2"],
  ["address", RTM_GETADDR, "ip -6 address show dev v2"],
  ["address", RTM_NEWROUTE, "ip route prepend 10.77.0.0/16 via 10.9.0.1 dev v2"],
  ["address", RTM_NEWROUTE, "ip route prepend 10.78.0.0/16 dev v2 scope link"],
  ["address", RTM_NEWROUTE, "ip route prepend default via 10.9.0.1 dev v2 metric 500 table 200"],
  [
    "address",
    RTM_NEWROUTE,
    "ip route prepend 10.79.0.0/16 via 10.9.0.1 dev v2 metric 500 table 1000 mtu 1300 advmss 1260",
  ],
  ["address", RTM_NEWROUTE, "ip -6 route prepend fd00:77::/32 via fd00::1 dev v2 metric 500 table 1000 mtu 1300"],
  ["address", RTM_NEWROUTE, "ip -6 route prepend default via fd00::1 dev v2"],
  ["address", RTM_GETROUTE, "ip -4 route show"],
  ["address", RTM_GETROUTE, "ip -6 route show"],
  ["address", RTM_DELADDR, "ip address del 10.9.0.7/20 dev v2"],
  ["address", RTM_DELADDR, "ip address del fd00::7/64 dev v2"],
  ["link", RTM_DELLINK, "ip link delete v2"],
  ["link", RTM_DELLINK, "ip link delete group 7000"],
];
