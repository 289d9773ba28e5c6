/** What the kernel answers iproute2 and nft, captured, and what our reader finds in it. */

import { formatIpAddress } from "../../../../cni-plugins/cni/ip-address.ts";
import { readAddress } from "../../../../cni-plugins/netlink/address.ts";
import { type PortVlan, readPortVlans } from "../../../../cni-plugins/netlink/bridge-vlan.ts";
import { linkFamily, readLink } from "../../../../cni-plugins/netlink/link.ts";
import { readMtuRange, readTunedLink } from "../../../../cni-plugins/netlink/link-tuning.ts";
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
import { searchPath } from "../../../cluster/requirements.ts";
import type { Machine } from "../../../netns/machine.ts";
import { Testbed } from "../../../netns/testbed.ts";
import { argumentsOf } from "./captures.ts";
import { NFT_MSG_NEWCHAIN, NFT_MSG_NEWRULE, NFT_MSG_NEWTABLE } from "./nft-commands.ts";
import { trafficOf } from "./strace.ts";

export interface CapturedReplies {
  /** The command line. */
  readonly asked: string;
  /** Hexadecimal, each with one or more messages. */
  readonly datagrams: readonly string[];
}

/** What is prepared, and what is asked then: the type of messages that answer, and the command line. */
export interface Scene {
  readonly prepared: string;
  readonly asked: readonly (readonly [number, string])[];
}

export async function captureReplies(machine: Machine, { prepared, asked }: Scene): Promise<CapturedReplies[]> {
  const testbed = await Testbed.create(machine);
  try {
    const { code, stderr } = await testbed.node.run(["/bin/sh", "-c", prepared], { env: { PATH: searchPath() } });
    if (code !== 0) throw new Error(stderr);
    const replies: CapturedReplies[] = [];
    for (const [type, command] of asked) {
      const { received } = await trafficOf(testbed.node, { argv: argumentsOf(command), env: { PATH: searchPath() } });
      replies.push({ asked: command, datagrams: theAnswer(received, type).map((bytes) => bytes.toString("hex")) });
    }
    return replies;
  } finally {
    await testbed[Symbol.asyncDispose]();
  }
}

const NLM_F_MULTI = 2;

/**
 * Programs look interfaces up before and after. What belongs together has the same number, and that of its socket; the
 * program nft gives all that it lists the same number.
 */
function theAnswer(received: readonly Buffer[], wanted: number): Buffer[] {
  const ofType = received.filter((datagram) => readMessages(datagram).some(({ type }) => type === wanted));
  const list = ofType.findLast((datagram) => readMessages(datagram).some(({ flags }) => (flags & NLM_F_MULTI) !== 0));
  const answer = list ?? (wanted === NLMSG_ERROR ? ofType.at(-1) : ofType[0]);
  const numbers = (datagram: Buffer): string => datagram.toString("hex", 8, 16);
  return answer === undefined ? [] : ofType.filter((one) => numbers(one) === numbers(answer));
}

/** What is read of each message, but for the end of a list. */
export function readReplies({ datagrams }: CapturedReplies): object[] {
  return datagrams.flatMap((hex) => readMessages(Buffer.from(hex, "hex")).flatMap(readReply));
}

function readReply(message: Message): object[] {
  if (message.type === RTM_NEWLINK && linkFamily(message) === AF_BRIDGE) {
    const { index, name, master } = readLink(message);
    return [{ index, name, master, vlans: rangesOfKind(readPortVlans(message)) }];
  }
  if (message.type === RTM_NEWLINK) return [{ ...readTunedLink(message), ...readMtuRange(message) }];
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
