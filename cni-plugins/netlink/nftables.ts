/** nftables over netlink: tables, chains and rules, changed by one transaction, all or nothing. */

import { ENOENT } from "./errno.ts";
import type { MessageBatch } from "./message-batch.ts";
import { eachAttribute, type Message, readBytes, readText } from "./message-reader.ts";
import { errnoOf } from "./netlink-socket.ts";
import { NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_ECHO } from "./rtnetlink.ts";
import { decodeUtf8, encodeUtf8 } from "./utf8.ts";

export const NFPROTO_INET = 1;
export const NFPROTO_IPV4 = 2;
export const NFPROTO_BRIDGE = 7;
export const NFPROTO_IPV6 = 10;

const SUBSYSTEM = 10;
const BATCH_BEGIN = 16;
const BATCH_END = 17;
const NEWTABLE = (SUBSYSTEM << 8) | 0;
const NEWCHAIN = (SUBSYSTEM << 8) | 3;
const DELCHAIN = (SUBSYSTEM << 8) | 5;
const GETTABLE = (SUBSYSTEM << 8) | 1;
const GETCHAIN = (SUBSYSTEM << 8) | 4;
const NEWRULE = (SUBSYSTEM << 8) | 6;
const GETRULE = (SUBSYSTEM << 8) | 7;
const DELRULE = (SUBSYSTEM << 8) | 8;

const TABLE_NAME = 1;
const TABLE_FLAGS = 2;
const TABLE_DORMANT = 1;
const TABLE_USERDATA = 6;
const CHAIN_TABLE = 1;
const CHAIN_NAME = 3;
const CHAIN_HOOK = 4;
const CHAIN_POLICY = 5;
const CHAIN_TYPE = 7;
const CHAIN_USERDATA = 12;
const HOOK_NUMBER = 1;
const HOOK_PRIORITY = 2;
const RULE_TABLE = 1;
const RULE_CHAIN = 2;
const RULE_HANDLE = 3;
const RULE_EXPRESSIONS = 4;
const RULE_USERDATA = 7;
const LIST_ELEMENT = 1;
const EXPRESSION_NAME = 1;
const EXPRESSION_DATA = 2;
const IMMEDIATE_DATA = 2;
const DATA_VERDICT = 2;
const VERDICT_CHAIN = 2;

const NFGENMSG_BYTES = 4;
const COMMENT_MAX_BYTES = 128;
export const POLICY_ACCEPT = 1;

export interface NftTable {
  readonly family: number;
  readonly name: string;
}

export interface BaseChain {
  readonly type: "filter" | "nat";
  readonly hook: number;
  readonly priority: number;
}

/** All requests from here to `endTransaction` are applied, or none. */
export function beginTransaction(batch: MessageBatch): MessageBatch {
  return batch.unanswered(BATCH_BEGIN).header([0, 0, 0, SUBSYSTEM]);
}

/** A transaction without an end is tried and taken back. */
export function endTransaction(batch: MessageBatch): MessageBatch {
  return batch.unanswered(BATCH_END).header([0, 0, 0, SUBSYSTEM]);
}

/**
 * What the transaction returns; undefined when something that it names is missing. It is tried before the tables are ensured,
 * because to ensure what exists costs ten milliseconds and more: the kernel waits for all readers when the socket closes.
 */
export function unlessMissing<T>(transaction: () => T): T | undefined {
  try {
    return transaction();
  } catch (error) {
    if (errnoOf(error) === ENOENT) return undefined;
    throw error;
  }
}

export function ensureTable(batch: MessageBatch, { family, name }: NftTable, comment?: string): MessageBatch {
  batch.request(`make nftables table ${name}`, NEWTABLE, NLM_F_CREATE).header([family, 0, 0, 0]);
  batch.text(TABLE_NAME, name);
  return comment === undefined ? batch : batch.bytes(TABLE_USERDATA, commentBytes(comment));
}

export function ensureChain(
  batch: MessageBatch,
  { family, name }: NftTable,
  chain: string,
  options: { base?: BaseChain; comment?: string } = {},
): MessageBatch {
  const { base, comment } = options;
  batch.request(`make nftables chain ${chain}`, NEWCHAIN, NLM_F_CREATE).header([family, 0, 0, 0]);
  batch.text(CHAIN_TABLE, name).text(CHAIN_NAME, chain);
  if (base !== undefined) {
    batch.nested(CHAIN_HOOK, () => batch.be32(HOOK_NUMBER, base.hook).be32(HOOK_PRIORITY, base.priority));
    batch.be32(CHAIN_POLICY, POLICY_ACCEPT).text(CHAIN_TYPE, base.type);
  }
  return comment === undefined ? batch : batch.bytes(CHAIN_USERDATA, commentBytes(comment));
}

/** With its rules. ENOENT when there is none, EBUSY when a rule elsewhere jumps to it. */
export function deleteChain(batch: MessageBatch, { family, name }: NftTable, chain: string): MessageBatch {
  batch.request(`delete nftables chain ${chain}`, DELCHAIN).header([family, 0, 0, 0]);
  return batch.text(CHAIN_TABLE, name).text(CHAIN_NAME, chain);
}

/** Adds a rule at the chain's end; its answer has the new rule, with its handle. */
export function appendRule(
  batch: MessageBatch,
  { family, name }: NftTable,
  chain: string,
  expressions: readonly ((batch: MessageBatch) => void)[],
  comment?: string,
): MessageBatch {
  batch.request(`add a rule to nftables chain ${chain}`, NEWRULE, NLM_F_CREATE | NLM_F_APPEND | NLM_F_ECHO);
  batch.header([family, 0, 0, 0]).text(RULE_TABLE, name).text(RULE_CHAIN, chain);
  batch.nested(RULE_EXPRESSIONS, () => {
    for (const write of expressions) batch.nested(LIST_ELEMENT, () => write(batch));
  });
  return comment === undefined ? batch : batch.bytes(RULE_USERDATA, commentBytes(comment));
}

/** One rule, or every rule of the chain. */
export function deleteRules(batch: MessageBatch, table: NftTable, chain: string, handle?: number): MessageBatch {
  batch.request(`delete a rule of nftables chain ${chain}`, DELRULE).header([table.family, 0, 0, 0]);
  batch.text(RULE_TABLE, table.name).text(RULE_CHAIN, chain);
  return handle === undefined ? batch : batch.be64(RULE_HANDLE, handle);
}

/** Not for a transaction. */
export function getRule(batch: MessageBatch, table: NftTable, chain: string, handle: number): MessageBatch {
  batch.request(`look up a rule of nftables chain ${chain}`, GETRULE).header([table.family, 0, 0, 0]);
  return batch.text(RULE_TABLE, table.name).text(RULE_CHAIN, chain).be64(RULE_HANDLE, handle);
}

/** Not for a transaction. */
export function getTable(batch: MessageBatch, { family, name }: NftTable): MessageBatch {
  return batch.request(`look up nftables table ${name}`, GETTABLE).header([family, 0, 0, 0]).text(TABLE_NAME, name);
}

/** The table is switched off: none of its chains is in force. */
export function isDormant({ view, start, end }: Message): boolean {
  let flags = 0;
  eachAttribute(view, start + NFGENMSG_BYTES, end, (type, from, to) => {
    if (type === TABLE_FLAGS && to - from >= 4) flags = view.getUint32(from, false);
  });
  return (flags & TABLE_DORMANT) !== 0;
}

/** Not for a transaction. */
export function getChain(batch: MessageBatch, { family, name }: NftTable, chain: string): MessageBatch {
  batch.request(`look up nftables chain ${chain}`, GETCHAIN).header([family, 0, 0, 0]);
  return batch.text(CHAIN_TABLE, name).text(CHAIN_NAME, chain);
}

export interface HookView {
  readonly type: string;
  readonly hook: number;
  readonly priority: number;
  readonly policy: number;
}

/** Where the chain is hooked; undefined for one that is not. */
export function readHook({ view, start, end }: Message): HookView | undefined {
  let isHooked = false;
  const found = { type: "", hook: 0, priority: 0, policy: POLICY_ACCEPT };
  eachAttribute(view, start + NFGENMSG_BYTES, end, (type, from, to) => {
    if (type === CHAIN_TYPE) found.type = readText(view, from, to);
    if (type === CHAIN_POLICY && to - from >= 4) found.policy = view.getUint32(from, false);
    if (type !== CHAIN_HOOK) return;
    isHooked = true;
    eachAttribute(view, from, to, (key, at) => {
      if (key === HOOK_NUMBER) found.hook = view.getInt32(at, false);
      else if (key === HOOK_PRIORITY) found.priority = view.getInt32(at, false);
    });
  });
  return isHooked ? found : undefined;
}

/** Not for a transaction. */
export function dumpRules(batch: MessageBatch, table: NftTable, chain: string): MessageBatch {
  batch.request(`list nftables chain ${chain}`, GETRULE, NLM_F_DUMP).header([table.family, 0, 0, 0]);
  return batch.text(RULE_TABLE, table.name).text(RULE_CHAIN, chain);
}

export interface RuleView {
  readonly handle: number;
  /** "" for none. */
  readonly comment: string;
  /** The chain that it jumps or goes to; "" for none. */
  readonly leadsTo: string;
}

export function readRule({ view, start, end }: Message): RuleView {
  const rule = { handle: 0, comment: "", leadsTo: "" };
  eachAttribute(view, start + NFGENMSG_BYTES, end, (type, from, to) => {
    if (type === RULE_HANDLE && to - from >= 8)
      rule.handle = view.getUint32(from, false) * 0x1_0000_0000 + view.getUint32(from + 4, false);
    else if (type === RULE_USERDATA) rule.comment = readComment(readBytes(view, from, to));
    else if (type === RULE_EXPRESSIONS) rule.leadsTo = readVerdictChain(view, from, to);
  });
  return rule;
}

/** Of the last expression that names a chain. */
function readVerdictChain(view: DataView, start: number, end: number): string {
  let chain = "";
  eachAttribute(view, start, end, (_, element, elementEnd) => {
    let name = "";
    eachAttribute(view, element, elementEnd, (type, from, to) => {
      if (type === EXPRESSION_NAME) name = readText(view, from, to);
      if (type !== EXPRESSION_DATA || name !== "immediate") return;
      const path = [IMMEDIATE_DATA, DATA_VERDICT, VERDICT_CHAIN];
      const found = findNested(view, from, to, path);
      if (found !== undefined) chain = readText(view, ...found);
    });
  });
  return chain;
}

function findNested(
  view: DataView,
  start: number,
  end: number,
  [wanted, ...deeper]: readonly number[],
): [number, number] | undefined {
  if (wanted === undefined) return [start, end];
  let found: [number, number] | undefined;
  eachAttribute(view, start, end, (type, from, to) => {
    if (type === wanted) found = findNested(view, from, to, deeper);
  });
  return found;
}

/** User data is a list of (type, length, value); type 0 is a text with its nul. */
function commentBytes(comment: string): Uint8Array {
  const text = encodeUtf8(storedComment(comment));
  const bytes = new Uint8Array(2 + text.length + 1);
  bytes[1] = text.length + 1;
  bytes.set(text, 2);
  return bytes;
}

/** A comment as it comes back: as much of it as there is room for. */
export function storedComment(comment: string): string {
  return comment.slice(0, COMMENT_MAX_BYTES);
}

function readComment(data: Uint8Array): string {
  for (let at = 0; at + 2 <= data.length; ) {
    const length = data[at + 1] ?? 0;
    if (data[at] === 0) return decodeUtf8(data.subarray(at + 2, at + 2 + Math.max(0, length - 1)));
    at += 2 + length;
  }
  return "";
}
