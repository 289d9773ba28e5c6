import { createHash } from "node:crypto";
import { networkOf, parseIpPrefix } from "../../../../cni-plugins/cni/ip-address.ts";
import { parseMacAddress } from "../../../../cni-plugins/cni/mac-address.ts";
import type { MessageBatch } from "../../../../cni-plugins/netlink/message-batch.ts";
import {
  back,
  drop,
  fromAddress,
  fromInterface,
  fromMac,
  goTo,
  jump,
  masquerade,
  type NftExpression,
  ofFamilyOf,
  toNetwork,
} from "../../../../cni-plugins/netlink/nft-expression.ts";
import * as nft from "../../../../cni-plugins/netlink/nftables.ts";
import { type Beside, describeBeside } from "./beside-captured.ts";

const NAT = { family: nft.NFPROTO_BRIDGE, name: "nat" };
const MASQ = { family: nft.NFPROTO_INET, name: "masq" };
const PLUGINS = { family: nft.NFPROTO_INET, name: "cni_plugins_masquerade" };

/** Names that the reference gives. */
const PORT = "cni-br-iface-container-net1";
const MAC_CHAIN = `${PORT}-mac`;
const MARK = "macspoofchk-container-net1";

const CREATED = "a table is made with and without NLM_F_CREATE";
const FLAGS = "no flags (dormant), as when they are left out";
const ECHOED = "NLM_F_ECHO asks for what was made: ours wants the handle of a rule, and of nothing else";
const newTable = { "+nlmsg_flags=0x400": CREATED, "-NFTA_TABLE_FLAGS=00000000": FLAGS };
const newTableEchoed = { ...newTable, "-nlmsg_flags=0x8": ECHOED };
const newChainEchoed = { "+nlmsg_flags=0x400": ECHOED, "-nlmsg_flags=0x408": ECHOED };
const newRule = { "+nlmsg_flags=0xc08": ECHOED, "-nlmsg_flags=0xc00": ECHOED };

function prefix(text: string): { address: Uint8Array; length: number } {
  const parsed = parseIpPrefix(text);
  if (parsed === undefined) throw new Error(`${text} is no prefix`);
  return parsed;
}

function inside(text: string, isInside: boolean): NftExpression[] {
  const { address, length } = prefix(text);
  return toNetwork(address, length, isInside);
}

function masqueraded(text: string): NftExpression[] {
  const { address, length } = prefix(text);
  const outside = toNetwork(networkOf({ address, length }), length, false);
  return [...ofFamilyOf(address), ...fromAddress(address), ...outside, masquerade];
}

const multicast = (network: string) => [...ofFamilyOf(prefix(network).address), ...inside(network, true), back];
const macOf = (text: string): Uint8Array => parseMacAddress(text) ?? new Uint8Array();

/** A rule that `nft` adds. */
function added(to: string, rule: string, expressions: readonly NftExpression[], comment?: string): Beside {
  const [family, table, chain = ""] = to.split(" ");
  const text = comment === undefined ? rule : `${rule} comment "${comment}"`;
  return {
    asked: `nft add rule ${family} ${table} ${chain} ${text}`,
    ours: (batch) => nft.appendRule(batch, family === "inet" ? MASQ : NAT, chain, expressions, comment),
    but: newRule,
  };
}

const sha512 = (text: string): string => createHash("sha512").update(text).digest("hex").slice(0, 16);
const ATTACHMENT = `${sha512("br0-net")}-${sha512("net1:container")}, net: br0-net, if: net1, id: container`;

const inPlugins = (chain: string, rule: readonly NftExpression[], comment?: string) => (batch: MessageBatch) =>
  nft.appendRule(batch, PLUGINS, chain, rule, comment);
const inNat = (chain: string, rule: readonly NftExpression[]) => (batch: MessageBatch) =>
  nft.appendRule(batch, NAT, chain, rule, MARK);

const filter: nft.BaseChain = { type: "filter", hook: 0, priority: -300 };
const postrouting: nft.BaseChain = { type: "nat", hook: 4, priority: 100 };

const OF_NFT: readonly Beside[] = [
  { asked: "nft add table bridge begun", ours: nft.beginTransaction },
  { asked: "nft add table bridge ended", ours: nft.endTransaction },
  { asked: "nft add table bridge nat", ours: (batch) => nft.ensureTable(batch, NAT), but: newTable },
  {
    asked: 'nft add table inet masq { comment "masquerading"; }',
    ours: (batch) => nft.ensureTable(batch, MASQ, "masquerading"),
    but: newTable,
  },
  {
    asked: "nft add chain bridge nat PREROUTING { type filter hook prerouting priority -300; policy accept; }",
    ours: (batch) => nft.ensureChain(batch, NAT, "PREROUTING", { base: filter }),
  },
  {
    asked: "nft add chain inet masq postrouting { type nat hook postrouting priority 100; policy accept; }",
    ours: (batch) => nft.ensureChain(batch, MASQ, "postrouting", { base: postrouting }),
  },
  { asked: "nft add chain bridge nat macs", ours: (batch) => nft.ensureChain(batch, NAT, "macs") },
  {
    asked: 'nft add chain inet masq checks { comment "of some"; }',
    ours: (batch) => nft.ensureChain(batch, MASQ, "checks", { comment: "of some" }),
  },
  added(
    "bridge nat PREROUTING",
    "iifname veth01234567 jump macs",
    [...fromInterface("veth01234567"), jump("macs")],
    "macspoofchk-c1-eth0",
  ),
  added("bridge nat macs", "ether saddr 02:00:00:00:00:01 return", [...fromMac(macOf("02:00:00:00:00:01")), back]),
  added("bridge nat macs", "drop", [drop]),
  added("inet masq postrouting", "ip daddr 224.0.0.0/4 return", multicast("224.0.0.0/4")),
  added("inet masq postrouting", "ip6 daddr ff00::/8 return", multicast("ff00::/8")),
  added("inet masq postrouting", "goto checks", [goTo("checks")]),
  added("inet masq checks", "ip saddr 10.5.0.2 ip daddr != 10.5.0.0/24 masquerade", masqueraded("10.5.0.2/24")),
  added("inet masq checks", "ip saddr 10.5.0.2 ip daddr != 10.5.0.0/26 masquerade", masqueraded("10.5.0.2/26")),
  added("inet masq checks", "ip6 saddr fd00:5::2 ip6 daddr != fd00:5::/64 masquerade", masqueraded("fd00:5::2/64")),
  added("inet masq checks", "ip6 saddr fd00:5::2 ip6 daddr != fd00:5::/62 masquerade", masqueraded("fd00:5::2/62")),
  { asked: "nft list table bridge nat", ours: (batch) => nft.getTable(batch, NAT) },
  { asked: "nft list chain bridge nat macs", ours: (batch) => nft.getChain(batch, NAT, "macs") },
  { asked: "nft list chain bridge nat PREROUTING", ours: (batch) => nft.dumpRules(batch, NAT, "PREROUTING") },
  {
    asked: "nft delete rule bridge nat PREROUTING handle 4",
    ours: (batch) => nft.deleteRules(batch, NAT, "PREROUTING", 4),
  },
  { asked: "nft flush chain bridge nat macs", ours: (batch) => nft.deleteRules(batch, NAT, "macs") },
  { asked: "nft delete chain bridge nat macs", ours: (batch) => nft.deleteChain(batch, NAT, "macs") },
];

const OF_SPOOF_CHECK: readonly Beside[] = [
  { asked: "bridge ADD: make the table", ours: (batch) => nft.ensureTable(batch, NAT), but: newTableEchoed },
  {
    asked: "bridge ADD: make the base chain",
    ours: (batch) => nft.ensureChain(batch, NAT, "PREROUTING", { base: filter }),
    but: newChainEchoed,
  },
  {
    asked: "bridge ADD: make the port's chain",
    ours: (batch) => nft.ensureChain(batch, NAT, PORT),
    but: newChainEchoed,
  },
  {
    asked: "bridge ADD: make the MAC's chain",
    ours: (batch) => nft.ensureChain(batch, NAT, MAC_CHAIN),
    but: newChainEchoed,
  },
  { asked: "bridge ADD: empty the port's chain", ours: (batch) => nft.deleteRules(batch, NAT, PORT) },
  { asked: "bridge ADD: empty the MAC's chain", ours: (batch) => nft.deleteRules(batch, NAT, MAC_CHAIN) },
  {
    asked: "bridge ADD: send the port's frames to its chain",
    ours: inNat("PREROUTING", [...fromInterface("veth01234567"), jump(PORT)]),
  },
  { asked: "bridge ADD: send them on to the MAC's chain", ours: inNat(PORT, [jump(MAC_CHAIN)]) },
  {
    asked: "bridge ADD: let the MAC pass",
    ours: inNat(MAC_CHAIN, [...fromMac(macOf("02:00:00:00:00:99")), back]),
  },
  { asked: "bridge ADD: drop others", ours: inNat(MAC_CHAIN, [drop]) },
  { asked: "bridge DEL: delete the port's rule", ours: (batch) => nft.deleteRules(batch, NAT, "PREROUTING", 4) },
  { asked: "bridge DEL: delete the port's chain", ours: (batch) => nft.deleteChain(batch, NAT, PORT) },
  { asked: "bridge DEL: delete the MAC's chain", ours: (batch) => nft.deleteChain(batch, NAT, MAC_CHAIN) },
];

const OF_MASQUERADING: readonly Beside[] = [
  {
    asked: "bridge ADD: make the table for masquerading",
    ours: (batch) =>
      nft.ensureTable(batch, PLUGINS, "Masquerading for plugins from github.com/containernetworking/plugins"),
    but: newTable,
  },
  {
    asked: "bridge ADD: make the chain for addresses",
    ours: (batch) => {
      const comment = "Masquerade traffic from certain IPs to any (non-multicast) IP outside their subnet";
      return nft.ensureChain(batch, PLUGINS, "masq_checks", { comment });
    },
  },
  {
    asked: "bridge ADD: make the base chain for masquerading",
    ours: (batch) => nft.ensureChain(batch, PLUGINS, "postrouting", { base: postrouting }),
    but: { "+NFTA_CHAIN_POLICY=00000001": "to accept, as when no policy is said" },
  },
  { asked: "bridge ADD: empty the base chain", ours: (batch) => nft.deleteRules(batch, PLUGINS, "postrouting") },
  {
    asked: "bridge ADD: leave multicast alone",
    ours: inPlugins("postrouting", multicast("224.0.0.0/4")),
    but: newRule,
  },
  {
    asked: "bridge ADD: leave IPv6 multicast alone",
    ours: inPlugins("postrouting", multicast("ff00::/8")),
    but: newRule,
  },
  { asked: "bridge ADD: go on to the addresses", ours: inPlugins("postrouting", [goTo("masq_checks")]), but: newRule },
  {
    asked: "bridge ADD: masquerade the IPv4 address",
    ours: inPlugins("masq_checks", masqueraded("10.9.0.7/20"), ATTACHMENT),
    but: newRule,
  },
  {
    asked: "bridge ADD: masquerade the IPv6 address",
    ours: inPlugins("masq_checks", masqueraded("fd00::7/64"), ATTACHMENT),
    but: newRule,
  },
];

describeBeside("nftables", [...OF_NFT, ...OF_SPOOF_CHECK, ...OF_MASQUERADING], {});
