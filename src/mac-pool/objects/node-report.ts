import { isMulticast, type Mac, parseMac } from "../../api/mac.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import { MAX_NODE_MACS } from "../../api/node-report.ts";

/**
 * The interfaces of a node by their addresses, as its NodeMACs says. A report counts only while its node lives: one that
 * the node does not own, which nothing would remove, says nothing. Neither does an address that no interface can have.
 */
export function addressesIn({ metadata, addresses }: NodeMACs): ReadonlyMap<Mac, string> {
  const found = new Map<Mac, string>();
  const isOwned = metadata.ownerReferences?.some(({ kind, name }) => kind === "Node" && name === metadata.name);
  if (!isOwned) return found;
  for (const address of (addresses ?? []).slice(0, MAX_NODE_MACS)) {
    const mac = parseMac(address.mac);
    if (mac !== undefined && mac !== 0 && !isMulticast(mac)) found.set(mac, address.interface);
  }
  return found;
}
