import { describe, expect, it } from "vitest";
import { formatIpAddress } from "../../../../cni-plugins/cni/ip-address.ts";
import { readAddress } from "../../../../cni-plugins/netlink/address.ts";
import { type PortVlan, readPortVlans } from "../../../../cni-plugins/netlink/bridge-vlan.ts";
import { linkFamily, readLink } from "../../../../cni-plugins/netlink/link.ts";
import { readMtuRange } from "../../../../cni-plugins/netlink/link-tuning.ts";
import { type Message, readAcknowledgement, readMessages } from "../../../../cni-plugins/netlink/message-reader.ts";
import { readRuleTerms } from "../../../../cni-plugins/netlink/nft-rule-terms.ts";
import { isDormant, readHook, readRule } from "../../../../cni-plugins/netlink/nftables.ts";
import { readRoute } from "../../../../cni-plugins/netlink/route.ts";
import {
  AF_BRIDGE,
  NLMSG_ERROR,
  RTM_NEWADDR,
  RTM_NEWLINK,
  RTM_NEWROUTE,
} from "../../../../cni-plugins/netlink/rtnetlink.ts";
import { type Expected, LINKS_AND_ADDRESSES, NFTABLES, VLANS } from "./reply-scenes.ts";

/** What the kernel answers iproute2 and nft, captured, and what our reader finds in it. */

interface CapturedReplies {
  /** The command line. */
  readonly asked: string;
  /** Hexadecimal, each with one or more messages. */
  readonly datagrams: readonly string[];
}

/** With the subsystem's number, as in linux/netfilter/nf_tables.h. */
const NFT_MSG_NEWTABLE = 0xa00;
const NFT_MSG_NEWCHAIN = 0xa03;
const NFT_MSG_NEWRULE = 0xa06;

/** What is read of each message, but for the end of a list. */
function readReplies({ datagrams }: CapturedReplies): object[] {
  return datagrams.flatMap((hex) => readMessages(Buffer.from(hex, "hex")).flatMap(readReply));
}

function readReply(message: Message): object[] {
  if (message.type === RTM_NEWLINK && linkFamily(message) === AF_BRIDGE) {
    const { index, name, master } = readLink(message);
    return [{ index, name, master, vlans: rangesOfKind(readPortVlans(message)) }];
  }
  if (message.type === RTM_NEWLINK) return [{ ...readLink(message), ...readMtuRange(message) }];
  if (message.type === NLMSG_ERROR) return [readAcknowledgement(message)];
  if (message.type === RTM_NEWADDR) {
    const read = readAddress(message);
    return [{ ...read, address: formatIpAddress(read.address) }];
  }
  if (message.type === NFT_MSG_NEWTABLE) return [{ dormant: isDormant(message) }];
  if (message.type === NFT_MSG_NEWCHAIN) return [readHook(message) ?? { hook: "none" }];
  if (message.type === NFT_MSG_NEWRULE) return [{ ...readRule(message), terms: readRuleTerms(message) }];
  if (message.type !== RTM_NEWROUTE) return [];
  const { destination, gateways, ...read } = readRoute(message);
  const shown = (bytes: Uint8Array): string => (bytes.length === 0 ? "" : formatIpAddress(bytes));
  return [{ ...read, destination: shown(destination), gateways: gateways.map(shown) }];
}

/** As `bridge vlan show` prints them. */
function rangesOfKind(vlans: readonly PortVlan[]): string[] {
  const kind = ({ pvid, untagged }: PortVlan): string => `${pvid ? " PVID" : ""}${untagged ? " Egress Untagged" : ""}`;
  const ranges: { first: number; last: number; readonly kind: string }[] = [];
  for (const vlan of vlans) {
    const open = ranges.at(-1);
    if (open !== undefined && open.last + 1 === vlan.id && open.kind === kind(vlan)) open.last = vlan.id;
    else ranges.push({ first: vlan.id, last: vlan.id, kind: kind(vlan) });
  }
  return ranges.map(({ first, last, kind: text }) => `${first === last ? first : `${first}-${last}`}${text}`);
}

import stored from "./replies.json" with { type: "json" };

describe.each<[string, readonly CapturedReplies[], Expected]>([
  ["a kernel without VLAN filtering", stored.linksAndAddresses.replies, LINKS_AND_ADDRESSES],
  ["nftables", stored.nftables.replies, NFTABLES],
  ["a kernel with VLAN filtering", stored.vlans.replies, VLANS],
])("answers of %s are read:", (_, replies, expected) => {
  it.each(Object.keys(expected))("%s", (command) => {
    const reply = replies.find((one) => one.asked === command);
    if (reply === undefined) throw new Error(`${command} was not captured`);
    expect(readReplies(reply)).toMatchObject(expected[command] ?? []);
  });
});

describe("a bridge of a kernel without VLAN filtering", () => {
  it("is not said to filter or not", () => {
    const reply = stored.linksAndAddresses.replies.find(({ asked }) => asked === "ip link show dev br0");
    expect(reply && readReplies(reply)).toMatchObject([{ bridgeVlans: { filtering: undefined, defaultVlan: 0 } }]);
  });
});
