/**
 * `macspoofchk`: frames from the container's port pass with the container's MAC only. Tables, chains and comments are the
 * reference's, so each side can remove what the other made.
 */

import { EBUSY, EEXIST, ENOENT } from "../netlink/errno.ts";
import type { MessageBatch } from "../netlink/message-batch.ts";
import type { Message } from "../netlink/message-reader.ts";
import { type Answer, errnoOf, type NetlinkSocket } from "../netlink/netlink-socket.ts";
import { back, drop, fromInterface, fromMac, jump } from "../netlink/nft-expression.ts";
import * as nft from "../netlink/nftables.ts";
import type { Attachment } from "./attachment.ts";

export const TABLE: nft.NftTable = { family: nft.NFPROTO_BRIDGE, name: "nat" };
export const BASE_CHAIN = "PREROUTING";
export const BASE: nft.BaseChain = { type: "filter", hook: 0, priority: -300 };

interface Names {
  readonly chain: string;
  readonly macChain: string;
  readonly comment: string;
}

export function namesOf({ containerId, ifname }: Attachment): Names {
  const id = `${containerId}-${ifname}`;
  const chain = `cni-br-iface-${id}`;
  return { chain, macChain: `${chain}-mac`, comment: `macspoofchk-${id}` };
}

export interface CheckedPort {
  readonly port: string;
  readonly mac: Uint8Array;
}

/** The handle of the rule that DEL has to remove; the chains it finds by name. */
export function addSpoofCheck(socket: NetlinkSocket, attachment: Attachment, checked: CheckedPort): number {
  const add = (chains: Chains) => {
    const addition = new Addition(socket, attachment, checked, chains);
    return addition.jump(socket.run(addition.batch));
  };
  return nft.unlessMissing(() => add("emptied")) ?? add("emptied, with the base");
}

/** Errors where there is no base chain yet, or chains of the attachment are there already. */
const NOT_BEGUN = [ENOENT, EEXIST];

/** Rules that the kernel adds while this call goes on, unless there are some of the attachment's. */
export class SpoofCheckUnderWay {
  readonly port: string;
  readonly #socket: NetlinkSocket;
  readonly #addition: Addition;
  readonly #answers: () => Answer[];
  #finished: readonly Answer[] | undefined;

  constructor(socket: NetlinkSocket, attachment: Attachment, checked: CheckedPort) {
    this.port = checked.port;
    this.#socket = socket;
    this.#addition = new Addition(socket, attachment, checked, "new");
    this.#answers = socket.transactAside(this.#addition.batch);
  }

  /** As `addSpoofCheck`; undefined when nothing was added. Throws what the kernel refused, the first time only. */
  finish(): number | undefined {
    if (this.#finished === undefined) {
      this.#finished = [];
      const answers = this.#answers();
      const refusal = answers.find(({ error }) => error !== undefined)?.error;
      if (refusal === undefined) this.#finished = answers;
      else if (!NOT_BEGUN.includes(refusal.errno)) throw refusal;
    }
    return this.#finished.length === 0 ? undefined : this.#addition.jump(this.#finished);
  }

  /** Whether nobody deleted them since, or put others in their place. */
  isThere(): boolean {
    const { macChain, comment } = namesOf(this.#addition.attachment);
    return hasComment(this.#socket, macChain, this.#addition.pass(this.#finished ?? []), comment);
  }
}

/** How a transaction takes the attachment's chains: makes them, EEXIST when there are some, or has them and empties them. */
type Chains = "new" | "emptied" | "emptied, with the base";

/** A transaction that makes the rules of an attachment. */
class Addition {
  readonly attachment: Attachment;
  readonly batch: MessageBatch;
  readonly #jumpAt: number;
  readonly #passAt: number;

  constructor(socket: NetlinkSocket, attachment: Attachment, { port, mac }: CheckedPort, chains: Chains) {
    this.attachment = attachment;
    const { chain, macChain, comment } = namesOf(attachment);
    const batch = nft.beginTransaction(socket.batch());
    if (chains === "emptied, with the base") ensureBase(batch);
    const isNew = chains === "new";
    for (const one of [chain, macChain]) nft.ensureChain(batch, TABLE, one, { isNew });
    if (!isNew) for (const one of [chain, macChain]) nft.deleteRules(batch, TABLE, one);
    this.#jumpAt = batch.operations.length;
    nft.appendRule(batch, TABLE, BASE_CHAIN, [...fromInterface(port), jump(chain)], comment);
    nft.appendRule(batch, TABLE, chain, [jump(macChain)], comment);
    this.#passAt = batch.operations.length;
    nft.appendRule(batch, TABLE, macChain, [...fromMac(mac), back], comment);
    nft.appendRule(batch, TABLE, macChain, [drop], comment);
    this.batch = nft.endTransaction(batch);
  }

  /** Handle of the rule that sends the port's frames to the attachment's chains. */
  jump(answers: readonly Answer[]): number {
    return handleOf(answers[this.#jumpAt]);
  }

  /** Handle of the rule that lets the MAC pass. */
  pass(answers: readonly Answer[]): number {
    return handleOf(answers[this.#passAt]);
  }
}

function handleOf(answer: Answer | undefined): number {
  const echoed = answer?.messages[0];
  return echoed === undefined ? 0 : nft.readRule(echoed).handle;
}

function ensureBase(batch: ReturnType<NetlinkSocket["batch"]>): void {
  nft.ensureTable(batch, TABLE);
  nft.ensureChain(batch, TABLE, BASE_CHAIN, { base: BASE });
}

/** Tries whether this kernel could do it, and makes nothing. */
export function trySpoofCheck(socket: NetlinkSocket): void {
  const batch = nft.beginTransaction(socket.batch());
  ensureBase(batch);
  socket.run(batch);
}

/** How often an ADD beside it may make a rule after those that lead to the chains were looked for. */
const BUSY_RETRIES = 5;

/** `handle`: from the record; it is believed only when the rule has this attachment's comment. */
export function removeSpoofCheck(socket: NetlinkSocket, attachment: Attachment, handle: number | undefined): void {
  const names = namesOf(attachment);
  const proven = handle !== undefined && hasComment(socket, BASE_CHAIN, handle, names.comment);
  let handles = proven ? [handle] : findRules(socket, names.comment);
  for (let retries = BUSY_RETRIES; ; retries--) {
    try {
      removeRules(socket, names, handles);
      return;
    } catch (error) {
      if (errnoOf(error) !== EBUSY || retries === 0) throw error;
      // A rule that an earlier ADD left, or one beside this call made, leads there too.
      handles = findRules(socket, names.comment);
    }
  }
}

/** As `removeSpoofCheck` where there may well be none: it costs the same however many attachments have rules. */
export function removeNamedSpoofCheck(socket: NetlinkSocket, attachment: Attachment): void {
  if (rulesOf(socket, namesOf(attachment).macChain).length > 0) removeSpoofCheck(socket, attachment, undefined);
}

/** The chains too, unless another call's rule leads to them. */
export function removeBegun(socket: NetlinkSocket, attachment: Attachment, handle: number): void {
  try {
    removeRules(socket, namesOf(attachment), [handle]);
  } catch (error) {
    if (errnoOf(error) !== EBUSY) throw error;
    removeJump(socket, handle);
  }
}

/** There may be no such rule. */
function removeJump(socket: NetlinkSocket, handle: number): void {
  alone(socket, (batch) => nft.deleteRules(batch, TABLE, BASE_CHAIN, handle));
}

function removeRules(socket: NetlinkSocket, { chain, macChain }: Names, handles: readonly number[]): void {
  const batch = nft.beginTransaction(socket.batch());
  for (const one of handles) nft.deleteRules(batch, TABLE, BASE_CHAIN, one);
  nft.deleteChain(nft.deleteChain(batch, TABLE, chain), TABLE, macChain);
  const failed = socket.transact(nft.endTransaction(batch)).find(({ error }) => error !== undefined)?.error;
  if (failed === undefined) return;
  if (failed.errno !== ENOENT) throw failed;
  // Something of it is gone already: take the rest one by one.
  for (const one of handles) removeJump(socket, one);
  for (const one of [chain, macChain]) alone(socket, (rest) => nft.deleteChain(rest, TABLE, one));
}

function alone(socket: NetlinkSocket, write: (batch: ReturnType<NetlinkSocket["batch"]>) => unknown): void {
  const batch = nft.beginTransaction(socket.batch());
  write(batch);
  for (const { error } of socket.transact(nft.endTransaction(batch))) {
    if (error !== undefined && error.errno !== ENOENT) throw error;
  }
}

/** Attachments that have rules here, as `containerId-ifname`. */
export function spoofCheckedIds(socket: NetlinkSocket): string[] {
  const prefix = "macspoofchk-";
  const comments = rulesOf(socket, BASE_CHAIN).map(({ comment }) => comment);
  return comments.filter((comment) => comment.startsWith(prefix)).map((comment) => comment.slice(prefix.length));
}

function hasComment(socket: NetlinkSocket, chain: string, handle: number, comment: string): boolean {
  const [answer] = socket.transact(nft.getRule(socket.batch(), TABLE, chain, handle));
  const message = answer?.messages[0];
  return message !== undefined && nft.readRule(message).comment === nft.storedComment(comment);
}

function findRules(socket: NetlinkSocket, comment: string): number[] {
  return rulesOf(socket, BASE_CHAIN)
    .filter((rule) => rule.comment === nft.storedComment(comment))
    .map(({ handle }) => handle);
}

function rulesOf(socket: NetlinkSocket, chain: string): nft.RuleView[] {
  return dumpChain(socket, chain).map(nft.readRule);
}

/** None of a chain that is not there. */
export function dumpChain(socket: NetlinkSocket, chain: string): readonly Message[] {
  const { error, messages } = socket.dump((batch) => nft.dumpRules(batch, TABLE, chain));
  if (error !== undefined && error.errno !== ENOENT) throw error;
  return messages;
}
