/** What the program `nft` is asked. Numbers as in linux/netfilter/nf_tables.h, with the subsystem's. */

import type { Command } from "./captures.ts";

export const NFT_MSG_NEWTABLE = 0xa00;
export const NFT_MSG_GETTABLE = 0xa01;
export const NFT_MSG_NEWCHAIN = 0xa03;
export const NFT_MSG_GETCHAIN = 0xa04;
export const NFT_MSG_DELCHAIN = 0xa05;
export const NFT_MSG_NEWRULE = 0xa06;
export const NFT_MSG_GETRULE = 0xa07;
export const NFT_MSG_DELRULE = 0xa08;

/** A transaction's first and last message. */
export const NFNL_MSG_BATCH_BEGIN = 16;
export const NFNL_MSG_BATCH_END = 17;

const command = (type: number, text: string): Command => ["nftables", type, `nft ${text}`];

export const askedOfNft: readonly Command[] = [
  command(NFNL_MSG_BATCH_BEGIN, "add table bridge begun"),
  command(NFNL_MSG_BATCH_END, "add table bridge ended"),
  command(NFT_MSG_NEWTABLE, "add table bridge nat"),
  command(NFT_MSG_NEWTABLE, 'add table inet masq { comment "masquerading"; }'),
  command(
    NFT_MSG_NEWCHAIN,
    "add chain bridge nat PREROUTING { type filter hook prerouting priority -300; policy accept; }",
  ),
  command(
    NFT_MSG_NEWCHAIN,
    "add chain inet masq postrouting { type nat hook postrouting priority 100; policy accept; }",
  ),
  command(NFT_MSG_NEWCHAIN, "add chain bridge nat macs"),
  command(NFT_MSG_NEWCHAIN, 'add chain inet masq checks { comment "of some"; }'),
  command(
    NFT_MSG_NEWRULE,
    'add rule bridge nat PREROUTING iifname veth01234567 jump macs comment "macspoofchk-c1-eth0"',
  ),
  command(NFT_MSG_NEWRULE, "add rule bridge nat macs ether saddr 02:00:00:00:00:01 return"),
  command(NFT_MSG_NEWRULE, "add rule bridge nat macs drop"),
  command(NFT_MSG_NEWRULE, "add rule inet masq postrouting ip daddr 224.0.0.0/4 return"),
  command(NFT_MSG_NEWRULE, "add rule inet masq postrouting ip6 daddr ff00::/8 return"),
  command(NFT_MSG_NEWRULE, "add rule inet masq postrouting goto checks"),
  command(NFT_MSG_NEWRULE, "add rule inet masq checks ip saddr 10.5.0.2 ip daddr != 10.5.0.0/24 masquerade"),
  command(NFT_MSG_NEWRULE, "add rule inet masq checks ip saddr 10.5.0.2 ip daddr != 10.5.0.0/26 masquerade"),
  command(NFT_MSG_NEWRULE, "add rule inet masq checks ip6 saddr fd00:5::2 ip6 daddr != fd00:5::/64 masquerade"),
  command(NFT_MSG_NEWRULE, "add rule inet masq checks ip6 saddr fd00:5::2 ip6 daddr != fd00:5::/62 masquerade"),
  command(NFT_MSG_GETTABLE, "list table bridge nat"),
  command(NFT_MSG_GETCHAIN, "list chain bridge nat macs"),
  command(NFT_MSG_GETRULE, "list chain bridge nat PREROUTING"),
  command(NFT_MSG_DELRULE, "delete rule bridge nat PREROUTING handle 4"),
  command(NFT_MSG_DELRULE, "flush chain bridge nat macs"),
  command(NFT_MSG_DELCHAIN, "delete chain bridge nat macs"),
];
