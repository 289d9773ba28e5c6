/** CHECK of what lets only the container's MAC pass: whether the rules still say it. */

import type { Link } from "../netlink/link.ts";
import type { MessageBatch } from "../netlink/message-batch.ts";
import type { Message } from "../netlink/message-reader.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { fromInterfaceTerm, fromMacTerm, readRuleTerms } from "../netlink/nft-rule-terms.ts";
import { getChain, getTable, isDormant, readHook, readRule, storedComment } from "../netlink/nftables.ts";
import type { Attachment } from "./attachment.ts";
import { BASE, BASE_CHAIN, dumpChain, namesOf, TABLE } from "./spoof-check.ts";

/** Undefined when they do, whichever plugin made them. */
export function spoofCheckFault(
  socket: NetlinkSocket,
  attachment: Attachment,
  port: Link,
  inside: Link,
): string | undefined {
  const { chain, macChain, comment } = namesOf(attachment);
  const marked = (message: Message) => readRule(message).comment === storedComment(comment);
  const jumps = dumpChain(socket, BASE_CHAIN).filter(marked);
  const passing = dumpChain(socket, macChain);
  const leading = dumpChain(socket, chain);
  if (jumps.length === 0 || leading.length === 0 || passing.length === 0) {
    return `the rules that check the MAC of ${attachment.ifname} are gone`;
  }
  if (!jumps.some((rule) => says([rule], [[fromInterfaceTerm(port.name), `jump ${chain}`]]))) {
    return `no rule of nftables chain ${BASE_CHAIN} sends the frames of ${port.name} to chain ${chain}`;
  }
  const idle = hookFault(socket);
  if (idle !== undefined) return idle;
  if (!says(leading, [[`jump ${macChain}`]])) return `nftables chain ${chain} does more than lead to ${macChain}`;
  if (says(passing, [[fromMacTerm(inside.mac), "return"], ["drop"]])) return undefined;
  return `the rules of nftables chain ${macChain} do not let ${inside.mac} pass and nothing else`;
}

/** Why no frame gets to the base chain; undefined when frames do. */
function hookFault(socket: NetlinkSocket): string | undefined {
  const first = (request: MessageBatch) => socket.run(request)[0]?.messages[0];
  const [table, chain] = [first(getTable(socket.batch(), TABLE)), first(getChain(socket.batch(), TABLE, BASE_CHAIN))];
  if (table !== undefined && isDormant(table)) {
    return `the spoof rules are not in force: nftables table bridge ${TABLE.name} is dormant`;
  }
  const hook = chain === undefined ? undefined : readHook(chain);
  const { type, hook: place, priority } = BASE;
  if (hook?.type === type && hook.hook === place && hook.priority === priority) return undefined;
  return `the spoof rules are not in force: nftables chain ${BASE_CHAIN} of table bridge ${TABLE.name} is not hooked as "type ${type} hook prerouting priority ${priority}"`;
}

function says(rules: readonly Message[], expected: readonly (readonly string[])[]): boolean {
  return JSON.stringify(rules.map(readRuleTerms)) === JSON.stringify(expected);
}
