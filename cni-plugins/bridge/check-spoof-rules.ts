/** CHECK of the spoof rules: do they still let only the container's MAC pass? */

import type { Link } from "../netlink/link.ts";
import type { Message } from "../netlink/message-reader.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { fromInterfaceTerm, fromMacTerm, readRuleTerms } from "../netlink/nft-rule-terms.ts";
import { readRule, storedComment } from "../netlink/nftables.ts";
import type { Attachment } from "./attachment.ts";
import { BASE_CHAIN, baseFault, dumpChain, findBase, namesOf } from "./spoof-check.ts";

/** Undefined when they do. Also for rules that the reference made. */
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
  const idle = baseFault(findBase(socket));
  if (idle !== undefined) return `the spoof rules are not in force: ${idle}`;
  if (!says(leading, [[`jump ${macChain}`]])) return `nftables chain ${chain} does more than lead to ${macChain}`;
  if (says(passing, [[fromMacTerm(inside.mac), "return"], ["drop"]])) return undefined;
  return `the rules of nftables chain ${macChain} do not let ${inside.mac} pass and nothing else`;
}

function says(rules: readonly Message[], expected: readonly (readonly string[])[]): boolean {
  return JSON.stringify(rules.map(readRuleTerms)) === JSON.stringify(expected);
}
