/** `ipMasq` with nftables: the reference's table, chains and comments, without the `nft` program. */

import { type IpPrefix, networkOf } from "../cni/ip-address.ts";
import type { Syscalls } from "../native/syscalls.ts";
import { ENOENT } from "../netlink/errno.ts";
import type { MessageBatch } from "../netlink/message-batch.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { back, fromAddress, goTo, masquerade, ofFamilyOf, toNetwork } from "../netlink/nft-expression.ts";
import * as nft from "../netlink/nftables.ts";
import type { Attachment } from "./attachment.ts";

const TABLE: nft.NftTable = { family: nft.NFPROTO_INET, name: "cni_plugins_masquerade" };
const TABLE_COMMENT = "Masquerading for plugins from github.com/containernetworking/plugins";
const RULES_CHAIN = "masq_checks";
const RULES_COMMENT = "Masquerade traffic from certain IPs to any (non-multicast) IP outside their subnet";
const HOOK_CHAIN = "postrouting";
const POSTROUTING: nft.BaseChain = { type: "nat", hook: 4, priority: 100 };

const MULTICAST_IPV4 = Uint8Array.of(224, 0, 0, 0);
const MULTICAST_IPV4_LENGTH = 4;
const MULTICAST_IPV6 = Uint8Array.of(0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
const MULTICAST_IPV6_LENGTH = 8;

const HASH_CHARACTERS = 16;

function networkHash(syscalls: Syscalls, network: string): string {
  return syscalls.sha512(network).slice(0, HASH_CHARACTERS);
}

/** What every rule's comment of the network begins with. */
function networkPrefix(syscalls: Syscalls, network: string): string {
  return `${networkHash(syscalls, network)}-`;
}

function attachmentPrefix(syscalls: Syscalls, { network, ifname, containerId }: Attachment): string {
  return networkPrefix(syscalls, network) + syscalls.sha512(`${ifname}:${containerId}`).slice(0, HASH_CHARACTERS);
}

function commentOf(syscalls: Syscalls, attachment: Attachment): string {
  const { network, ifname, containerId } = attachment;
  return `${attachmentPrefix(syscalls, attachment)}, net: ${network}, if: ${ifname}, id: ${containerId}`;
}

/** The handles of the rules, one for each address. */
export function addNftMasquerade(
  syscalls: Syscalls,
  socket: NetlinkSocket,
  attachment: Attachment,
  addresses: readonly IpPrefix[],
): number[] {
  const comment = commentOf(syscalls, attachment);
  const hookRules = [
    [...ofFamilyOf(MULTICAST_IPV4), ...toNetwork(MULTICAST_IPV4, MULTICAST_IPV4_LENGTH, true), back],
    [...ofFamilyOf(MULTICAST_IPV6), ...toNetwork(MULTICAST_IPV6, MULTICAST_IPV6_LENGTH, true), back],
    [goTo(RULES_CHAIN)],
  ];
  const isFilled = rules(socket, HOOK_CHAIN).length === hookRules.length;
  const add = (withChains: boolean) => addRules(socket, { hookRules: withChains ? hookRules : [], addresses, comment });
  return (isFilled ? nft.unlessMissing(() => add(false)) : undefined) ?? add(true);
}

type Expressions = readonly ((batch: MessageBatch) => void)[];

interface NewRules {
  /** Of the hook's chain, when the chains are to be made too. */
  readonly hookRules: readonly Expressions[];
  readonly addresses: readonly IpPrefix[];
  readonly comment: string;
}

function addRules(socket: NetlinkSocket, { hookRules, addresses, comment }: NewRules): number[] {
  const batch = nft.beginTransaction(socket.batch());
  if (hookRules.length > 0) {
    ensureChains(batch);
    nft.deleteRules(batch, TABLE, HOOK_CHAIN);
    for (const rule of hookRules) nft.appendRule(batch, TABLE, HOOK_CHAIN, rule);
  }
  const rulesAt = batch.operations.length;
  for (const prefix of addresses) {
    const { address, length } = prefix;
    const outside = toNetwork(networkOf(prefix), length, false);
    const rule = [...ofFamilyOf(address), ...fromAddress(address), ...outside, masquerade];
    nft.appendRule(batch, TABLE, RULES_CHAIN, rule, comment);
  }
  const answers = socket.run(nft.endTransaction(batch)).slice(rulesAt);
  return answers.flatMap(({ messages }) => messages.slice(0, 1).map((message) => nft.readRule(message).handle));
}

function ensureChains(batch: MessageBatch): void {
  nft.ensureTable(batch, TABLE, TABLE_COMMENT);
  nft.ensureChain(batch, TABLE, RULES_CHAIN, { comment: RULES_COMMENT });
  nft.ensureChain(batch, TABLE, HOOK_CHAIN, { base: POSTROUTING });
}

/** Tries whether this kernel could do it, and makes nothing. */
export function tryNftMasquerade(socket: NetlinkSocket): void {
  const batch = nft.beginTransaction(socket.batch());
  ensureChains(batch);
  nft.appendRule(batch, TABLE, RULES_CHAIN, [masquerade]);
  socket.run(batch);
}

/** `handles`: from the rule record; used only if the rules have this attachment's comment. */
export function removeNftMasquerade(
  syscalls: Syscalls,
  socket: NetlinkSocket,
  attachment: Attachment,
  handles: readonly number[] | undefined,
): void {
  const prefix = attachmentPrefix(syscalls, attachment);
  const proven = handles !== undefined && areOf(socket, handles, prefix);
  const found = proven
    ? handles
    : rules(socket)
        .filter(({ comment }) => comment.startsWith(prefix))
        .map(({ handle }) => handle);
  deleteRules(socket, found);
}

/** GC: rules of the network whose attachment is not among the valid ones. */
export function collectNftMasquerade(
  syscalls: Syscalls,
  socket: NetlinkSocket,
  network: string,
  valid: readonly Attachment[],
): void {
  const kept = valid.map((attachment) => attachmentPrefix(syscalls, attachment));
  const own = rules(socket).filter(({ comment }) => comment.startsWith(networkPrefix(syscalls, network)));
  deleteRules(
    socket,
    own.filter(({ comment }) => !kept.some((prefix) => comment.startsWith(prefix))).map(({ handle }) => handle),
  );
}

/** CHECK: how many rules the attachment has. */
export function countNftMasquerade(syscalls: Syscalls, socket: NetlinkSocket, attachment: Attachment): number {
  const prefix = attachmentPrefix(syscalls, attachment);
  return rules(socket).filter(({ comment }) => comment.startsWith(prefix)).length;
}

function deleteRules(socket: NetlinkSocket, handles: readonly number[]): void {
  for (const handle of handles) {
    const batch = nft.deleteRules(nft.beginTransaction(socket.batch()), TABLE, RULES_CHAIN, handle);
    for (const { error } of socket.transact(nft.endTransaction(batch))) {
      if (error !== undefined && error.errno !== ENOENT) throw error;
    }
  }
}

function areOf(socket: NetlinkSocket, handles: readonly number[], prefix: string): boolean {
  return handles.every((handle) => {
    const [answer] = socket.transact(nft.getRule(socket.batch(), TABLE, RULES_CHAIN, handle));
    const message = answer?.messages[0];
    return message !== undefined && nft.readRule(message).comment.startsWith(prefix);
  });
}

function rules(socket: NetlinkSocket, chain = RULES_CHAIN): nft.RuleView[] {
  const { error, messages } = socket.dump((batch) => nft.dumpRules(batch, TABLE, chain));
  if (error !== undefined && error.errno !== ENOENT) throw error;
  return messages.map(nft.readRule);
}
