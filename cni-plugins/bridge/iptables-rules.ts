/**
 * Removes what iptables made where this process finds no iptables, as in the node agent's image. Today's iptables writes
 * nftables rules. The rules of iptables-legacy can't be removed without it.
 */

import type { Syscalls } from "../native/syscalls.ts";
import { ENOENT } from "../netlink/errno.ts";
import * as nft from "../netlink/nftables.ts";
import { openNetfilter } from "./netfilter.ts";

const TABLE = "nat";
const HOOK_CHAIN = "POSTROUTING";

/** `family`: NFPROTO_IPV4 or NFPROTO_IPV6. Removes the chain and the rules of POSTROUTING that lead to it; there may be none. */
export function removeIptablesChain(syscalls: Syscalls, family: number, chain: string): void {
  const table: nft.NftTable = { family, name: TABLE };
  const socket = openNetfilter(syscalls);
  try {
    const { error, messages } = socket.dump((batch) => nft.dumpRules(batch, table, HOOK_CHAIN));
    if (error !== undefined && error.errno !== ENOENT) throw error;
    const batch = nft.beginTransaction(socket.batch());
    for (const { handle, leadsTo } of messages.map(nft.readRule)) {
      if (leadsTo === chain) nft.deleteRules(batch, table, HOOK_CHAIN, handle);
    }
    nft.deleteChain(batch, table, chain);
    const failed = socket.transact(nft.endTransaction(batch)).find(({ error: one }) => one !== undefined)?.error;
    if (failed !== undefined && failed.errno !== ENOENT) throw failed;
  } finally {
    socket.close();
  }
}
