import { createBridge, createVethPair, enableVlanFiltering } from "../../../../cni-plugins/netlink/bridge.ts";
import { deleteLink, dumpLinks, getLink, setLinkUp, setPromiscuous } from "../../../../cni-plugins/netlink/link.ts";
import {
  setAllMulticast,
  setLinkMac,
  setLinkMtu,
  setTxQueueLength,
} from "../../../../cni-plugins/netlink/link-tuning.ts";
import { describeBeside } from "./beside-captured.ts";

/** Numbers that the captured requests have. */
const V0 = 700;
const MASTER = 300;
const NETNS = 99;
const MAC = Uint8Array.of(2, 0, 0, 0, 0, 0x99);

const PAIR = { hostName: "veth01234567", peerName: "net1", master: MASTER, netns: NETNS };
const PLAIN = { peerMac: undefined, mtu: undefined };

const SETS = "of a link that exists, RTM_NEWLINK without NLM_F_CREATE changes what RTM_SETLINK does";
const setting = { "+RTM_NEWLINK": SETS, "-RTM_SETLINK": SETS };

const EMPTY = "attributes of the kind may be left out when there are none";
const withoutData = { "-IFLA_LINKINFO/IFLA_INFO_DATA/ is empty": EMPTY };

const DETAILS =
  "says how much the kernel is to tell: no counters (8), and of virtual functions (1), which ours does not read";

const INSIDE_OUT = "the reference makes the pair from inside the container, and this end a port later";
const insideOut = {
  '+IFLA_IFNAME="veth01234567"': INSIDE_OUT,
  '-IFLA_IFNAME="net1"': INSIDE_OUT,
  '+IFLA_LINKINFO/IFLA_INFO_DATA/VETH_INFO_PEER/IFLA_IFNAME="net1"': INSIDE_OUT,
  '-IFLA_LINKINFO/IFLA_INFO_DATA/VETH_INFO_PEER/IFLA_IFNAME="veth01234567"': INSIDE_OUT,
  "+IFLA_MASTER=2c010000": INSIDE_OUT,
  "-IFLA_LINKINFO/IFLA_INFO_DATA/VETH_INFO_PEER/IFLA_TXQLEN=00000000": "a pair has no queue, whatever its length",
};

describeBeside(
  "link",
  [
    { asked: "ip link add br1 type bridge", ours: (batch) => createBridge(batch, { name: "br1" }) },
    {
      asked: "ip link add br2 mtu 1400 type bridge vlan_filtering 1",
      ours: (batch) => createBridge(batch, { name: "br2", mtu: 1400, vlanFiltering: true }),
    },
    { asked: "ip link set br0 type bridge vlan_filtering 1", ours: (batch) => enableVlanFiltering(batch, MASTER) },
    {
      asked: "ip link add veth01234567 master br0 type veth peer name net1 netns pod",
      ours: (batch) => createVethPair(batch, { ...PAIR, ...PLAIN }),
    },
    {
      asked:
        "ip link add veth-net2 mtu 1400 master br0 type veth peer name net2 mtu 1400 netns pod address 02:00:00:00:00:99",
      ours: (batch) =>
        createVethPair(batch, { ...PAIR, hostName: "veth-net2", peerName: "net2", peerMac: MAC, mtu: 1400 }),
    },
    { asked: "ip link set v0 up", ours: (batch) => setLinkUp(batch, V0) },
    {
      asked: "ip link set v0 up alias cni-bridge:br1-net/container/net1",
      ours: (batch) => setLinkUp(batch, V0, "cni-bridge:br1-net/container/net1"),
    },
    { asked: "ip link set v0 promisc on", ours: (batch) => setPromiscuous(batch, V0, true) },
    { asked: "ip link set v0 promisc off", ours: (batch) => setPromiscuous(batch, V0, false) },
    { asked: "ip link set v0 allmulticast on", ours: (batch) => setAllMulticast(batch, V0, true) },
    { asked: "ip link set v0 allmulticast off", ours: (batch) => setAllMulticast(batch, V0, false) },
    { asked: "ip link set v0 address 02:00:00:00:00:99", ours: (batch) => setLinkMac(batch, V0, MAC) },
    { asked: "ip link set v0 mtu 1400", ours: (batch) => setLinkMtu(batch, V0, 1400) },
    { asked: "ip link set v0 txqueuelen 500", ours: (batch) => setTxQueueLength(batch, V0, 500) },
    { asked: "ip link delete v2", ours: (batch) => deleteLink(batch, 800) },
    {
      asked: "ip link show dev v0",
      ours: (batch) => getLink(batch, "v0"),
      but: { "+IFLA_EXT_MASK=08000000": DETAILS, "-IFLA_EXT_MASK=09000000": DETAILS },
    },
    {
      asked: "ip link show",
      ours: (batch) => dumpLinks(batch),
      but: {
        "+IFLA_EXT_MASK=08000000": DETAILS,
        "-IFLA_EXT_MASK=01000000": DETAILS,
        "-family=17": "AF_PACKET, which has no links of its own, is answered as AF_UNSPEC",
      },
    },
    {
      asked: "ip link show master br0",
      ours: (batch) => dumpLinks(batch, MASTER),
      but: {
        "+IFLA_EXT_MASK=08000000": DETAILS,
        "-IFLA_EXT_MASK=01000000": DETAILS,
        "-family=17": "AF_PACKET, which has no links of its own, is answered as AF_UNSPEC",
      },
    },
    {
      asked: "bridge ADD: create the bridge",
      ours: (batch) => createBridge(batch, { name: "br0" }),
      but: withoutData,
    },
    {
      asked: "bridge ADD: create the bridge with an MTU",
      ours: (batch) => createBridge(batch, { name: "br0", mtu: 1400 }),
      but: withoutData,
    },
    {
      asked: "bridge ADD: create the bridge that filters VLANs",
      ours: (batch) => createBridge(batch, { name: "br0", vlanFiltering: true }),
    },
    { asked: "bridge ADD: bring the bridge up", ours: (batch) => setLinkUp(batch, 2) },
    {
      asked: "bridge ADD: make the bridge promiscuous",
      ours: (batch) => setPromiscuous(batch, MASTER, true),
      but: setting,
    },
    {
      asked: "bridge ADD: create the pair, from inside the container",
      ours: (batch) => createVethPair(batch, { ...PAIR, ...PLAIN }),
      but: insideOut,
    },
    {
      asked: "bridge ADD: create the pair with an MTU, from inside the container",
      ours: (batch) => createVethPair(batch, { ...PAIR, peerMac: undefined, mtu: 1400 }),
      but: insideOut,
    },
    { asked: "bridge ADD: bring the port up", ours: (batch) => setLinkUp(batch, 3) },
    { asked: "bridge ADD: bring the container's end up", ours: (batch) => setLinkUp(batch, 2) },
    { asked: "bridge DEL: delete the pair", ours: (batch) => deleteLink(batch, 2) },
    { asked: "tuning ADD: set the MAC", ours: (batch) => setLinkMac(batch, 2, MAC), but: setting },
    { asked: "tuning ADD: set promiscuous mode", ours: (batch) => setPromiscuous(batch, 2, true), but: setting },
    { asked: "tuning ADD: set the MTU", ours: (batch) => setLinkMtu(batch, 2, 1400), but: setting },
    { asked: "tuning ADD: set all-multicast mode", ours: (batch) => setAllMulticast(batch, 2, true) },
    {
      asked: "tuning ADD: set the transmit queue's length",
      ours: (batch) => setTxQueueLength(batch, 2, 500),
      but: setting,
    },
  ],
  {
    "bridge ADD: make the host's end a port of the bridge": "ours makes it a port by the request that creates the pair",
  },
);
