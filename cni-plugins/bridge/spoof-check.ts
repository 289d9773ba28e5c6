/**
 * `macspoofchk`: only frames with the container's MAC, or one of `allowedMacs`, pass from the port. Tables, chains and comments
 * are the reference's, so either side can remove what the other made.
 */

import { CniError, INVALID_ENVIRONMENT, RULES_NOT_IN_FORCE } from "../cni/cni-error.ts";
import { formatMacAddress } from "../cni/mac-address.ts";
import { EBUSY, ENOENT } from "../netlink/errno.ts";
import type { Message } from "../netlink/message-reader.ts";
import { errnoOf, type NetlinkSocket } from "../netlink/netlink-socket.ts";
import { back, drop, fromInterface, fromMac, jump } from "../netlink/nft-expression.ts";
import { fromInterfaceTerm, fromMacTerm, readRuleTerms } from "../netlink/nft-rule-terms.ts";
import * as nft from "../netlink/nftables.ts";
import type { MacPrefix } from "./allowed-macs.ts";
import type { Attachment } from "./attachment.ts";

const TABLE: nft.NftTable = { family: nft.NFPROTO_BRIDGE, name: "nat" };
const BASE_CHAIN = "PREROUTING";
const BASE: nft.BaseChain = { type: "filter", hook: 0, priority: -300 };

interface Names {
  readonly chain: string;
  readonly macChain: string;
  readonly comment: string;
}

function namesOf({ containerId, ifname }: Attachment): Names {
  const id = `${containerId}-${ifname}`;
  const chain = `cni-br-iface-${id}`;
  return { chain, macChain: `${chain}-mac`, comment: `macspoofchk-${id}` };
}

/** The kernel's NFT_NAME_MAXLEN without the nul. */
const CHAIN_NAME_CHARACTERS = 255;

/** By how many characters the attachment's chains have too long a name: there is none then. */
function chainNameExcess(attachment: Attachment): number {
  return Math.max(0, namesOf(attachment).macChain.length - CHAIN_NAME_CHARACTERS);
}

/** Throws where no chain can have the attachment's names. */
export function requireChainNames(attachment: Attachment): void {
  const excess = chainNameExcess(attachment);
  if (excess === 0) return;
  const { length } = attachment.containerId;
  throw new CniError(
    INVALID_ENVIRONMENT,
    `CNI_CONTAINERID has ${length} characters, but the nftables chains that "macspoofchk" names after it have room for ${length - excess}`,
  );
}

/** The handle of the rule that DEL has to remove; the chains it finds by name. Refuses where no frame gets to the rules. */
export function addSpoofCheck(socket: NetlinkSocket, attachment: Attachment, checked: CheckedPort<Uint8Array>): number {
  const add = (withBase: boolean) => addRules(socket, attachment, checked, withBase);
  const handle = nft.unlessMissing(() => add(false)) ?? add(true);
  const base = findBase(socket);
  const fault = base.chain === undefined ? `nftables chain ${BASE_CHAIN} is gone` : baseFault(base);
  if (fault === undefined) return handle;
  removeSpoofCheck(socket, attachment, handle);
  throw notInForce(fault);
}

/** The table and the base chain, as far as they are there. */
interface Base {
  readonly table: Message | undefined;
  readonly chain: Message | undefined;
}

function findBase(socket: NetlinkSocket): Base {
  const requests = nft.getChain(nft.getTable(socket.batch(), TABLE), TABLE, BASE_CHAIN);
  const [table, chain] = socket.transact(requests).map(({ messages }) => messages[0]);
  return { table, chain };
}

/** Why no frame gets through the base chain; undefined when frames do, and where nothing keeps an ADD from making it. */
function baseFault({ table, chain }: Base): string | undefined {
  const named = `table bridge ${TABLE.name}`;
  if (table !== undefined && nft.isDormant(table)) return `nftables ${named} is dormant: run "nft add ${named}"`;
  if (chain === undefined) return undefined;
  const where = `nftables chain ${BASE_CHAIN} of ${named}`;
  const remedy = `run "nft delete ${named}", then restart the pods that had rules in it`;
  const hook = nft.readHook(chain);
  const { type, hook: place, priority } = BASE;
  if (hook?.type !== type || hook.hook !== place || hook.priority !== priority) {
    return `${where} is not hooked as "type ${type} hook prerouting priority ${priority}": ${remedy}`;
  }
  return hook.policy === nft.POLICY_ACCEPT ? undefined : `${where} has another policy than accept: ${remedy}`;
}

function notInForce(fault: string): CniError {
  return new CniError(RULES_NOT_IN_FORCE, `the rules of "macspoofchk" would not be in force: ${fault}`);
}

interface CheckedPort<Mac> {
  readonly port: string;
  /** Of the container's interface. */
  readonly mac: Mac;
  readonly allowed: readonly MacPrefix[];
}

function addRules(
  socket: NetlinkSocket,
  attachment: Attachment,
  { port, mac, allowed }: CheckedPort<Uint8Array>,
  withBase: boolean,
): number {
  const { chain, macChain, comment } = namesOf(attachment);
  const batch = nft.beginTransaction(socket.batch());
  if (withBase) ensureBase(batch);
  nft.ensureChain(batch, TABLE, chain);
  nft.ensureChain(batch, TABLE, macChain);
  nft.deleteRules(batch, TABLE, chain);
  nft.deleteRules(batch, TABLE, macChain);
  const jumpAt = batch.operations.length;
  nft.appendRule(batch, TABLE, BASE_CHAIN, [...fromInterface(port), jump(chain)], comment);
  nft.appendRule(batch, TABLE, chain, [jump(macChain)], comment);
  nft.appendRule(batch, TABLE, macChain, [...fromMac(mac), back], comment);
  for (const { mac: from, length } of allowed) {
    nft.appendRule(batch, TABLE, macChain, [...fromMac(from, length), back], comment);
  }
  nft.appendRule(batch, TABLE, macChain, [drop], comment);
  const echoed = socket.run(nft.endTransaction(batch))[jumpAt]?.messages[0];
  return echoed === undefined ? 0 : nft.readRule(echoed).handle;
}

function ensureBase(batch: ReturnType<NetlinkSocket["batch"]>): void {
  nft.ensureTable(batch, TABLE);
  nft.ensureChain(batch, TABLE, BASE_CHAIN, { base: BASE });
}

/** Tries whether rules could be made and would be in force, and makes nothing. */
export function trySpoofCheck(socket: NetlinkSocket): void {
  const fault = baseFault(findBase(socket));
  if (fault !== undefined) throw notInForce(fault);
  const batch = nft.beginTransaction(socket.batch());
  ensureBase(batch);
  socket.run(batch);
}

/** How often a concurrent ADD may add a rule that leads to the chains. */
const BUSY_RETRIES = 5;

/** `handle`: from the rule record; used only if the rule has this attachment's comment. */
export function removeSpoofCheck(socket: NetlinkSocket, attachment: Attachment, handle: number | undefined): void {
  if (chainNameExcess(attachment) > 0) return;
  const names = namesOf(attachment);
  const proven = handle !== undefined && hasComment(socket, handle, names.comment);
  let handles = proven ? [handle] : findRules(socket, names.comment);
  for (let retries = BUSY_RETRIES; ; retries--) {
    try {
      removeRules(socket, names, handles);
      return;
    } catch (error) {
      if (errnoOf(error) !== EBUSY || retries === 0) throw error;
      // A rule of an earlier or a concurrent ADD leads there too.
      handles = findRules(socket, names.comment);
    }
  }
}

/** For attachments that mostly have no rules: costs the same however many other attachments have some. */
export function removeNamedSpoofCheck(socket: NetlinkSocket, attachment: Attachment): void {
  if (chainNameExcess(attachment) > 0) return;
  if (rulesOf(socket, namesOf(attachment).macChain).length > 0) removeSpoofCheck(socket, attachment, undefined);
}

function removeRules(socket: NetlinkSocket, { chain, macChain }: Names, handles: readonly number[]): void {
  const batch = nft.beginTransaction(socket.batch());
  for (const one of handles) nft.deleteRules(batch, TABLE, BASE_CHAIN, one);
  nft.deleteChain(nft.deleteChain(batch, TABLE, chain), TABLE, macChain);
  const failed = socket.transact(nft.endTransaction(batch)).find(({ error }) => error !== undefined)?.error;
  if (failed === undefined) return;
  if (failed.errno !== ENOENT) throw failed;
  // Something of it is gone already: take the rest one by one.
  for (const one of handles) alone(socket, (rest) => nft.deleteRules(rest, TABLE, BASE_CHAIN, one));
  for (const one of [chain, macChain]) alone(socket, (rest) => nft.deleteChain(rest, TABLE, one));
}

function alone(socket: NetlinkSocket, write: (batch: ReturnType<NetlinkSocket["batch"]>) => unknown): void {
  const batch = nft.beginTransaction(socket.batch());
  write(batch);
  for (const { error } of socket.transact(nft.endTransaction(batch))) {
    if (error !== undefined && error.errno !== ENOENT) throw error;
  }
}

/** CHECK: why the rules do not let only these MACs pass; undefined when they do. Also of rules that the reference made. */
export function spoofCheckFault(
  socket: NetlinkSocket,
  attachment: Attachment,
  { port, mac, allowed }: CheckedPort<string>,
): string | undefined {
  const { chain, macChain, comment } = namesOf(attachment);
  const marked = (message: Message) => nft.readRule(message).comment === nft.storedComment(comment);
  const jumps = dumpChain(socket, BASE_CHAIN).filter(marked);
  const passing = dumpChain(socket, macChain);
  const leading = dumpChain(socket, chain);
  if (jumps.length === 0 || leading.length === 0 || passing.length === 0) {
    return `the rules that check the MAC of ${attachment.ifname} are gone`;
  }
  if (!jumps.some((rule) => says([rule], [[fromInterfaceTerm(port), `jump ${chain}`]]))) {
    return `no rule of nftables chain ${BASE_CHAIN} sends the frames of ${port} to chain ${chain}`;
  }
  const idle = baseFault(findBase(socket));
  if (idle !== undefined) return `the spoof rules are not in force: ${idle}`;
  if (!says(leading, [[`jump ${macChain}`]])) return `nftables chain ${chain} does more than lead to ${macChain}`;
  const sources = [fromMacTerm(mac), ...allowed.map((one) => fromMacTerm(formatMacAddress(one.mac), one.length))];
  if (says(passing, [...sources.map((from) => [from, "return"]), ["drop"]])) return undefined;
  const passes = allowed.length === 0 ? mac : `${mac} and "allowedMacs"`;
  return `the rules of nftables chain ${macChain} do not let ${passes} pass and nothing else`;
}

function says(rules: readonly Message[], expected: readonly (readonly string[])[]): boolean {
  return JSON.stringify(rules.map(readRuleTerms)) === JSON.stringify(expected);
}

function hasComment(socket: NetlinkSocket, handle: number, comment: string): boolean {
  const [answer] = socket.transact(nft.getRule(socket.batch(), TABLE, BASE_CHAIN, handle));
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
function dumpChain(socket: NetlinkSocket, chain: string): readonly Message[] {
  const { error, messages } = socket.dump((batch) => nft.dumpRules(batch, TABLE, chain));
  if (error !== undefined && error.errno !== ENOENT) throw error;
  return messages;
}
