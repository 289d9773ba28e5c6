import { meetingOwners } from "../claims/layer2-domain.ts";
import type { Pool } from "../pools/pool.ts";
import type { StatusCounts } from "../pools/pool-status.ts";
import type { Caches } from "./caches.ts";

/** The pool's counters, with those addresses in conflict whose owners can meet, and those that nodes have too. */
export function countsOf(pool: Pool, { index, networks, ownersOf }: Caches): StatusCounts {
  let { conflicts } = pool.counts;
  for (const mac of index.shared) {
    const claim = index.claim(mac);
    if (claim === undefined || !pool.concerns(mac, claim)) continue;
    if (meetingOwners(ownersOf(mac), networks.cached).length === 0) conflicts -= 1;
  }
  let hostConflicts = 0;
  for (const mac of index.hosts.macs()) {
    const claim = index.claim(mac);
    if (claim !== undefined && claim.ownerCount > 0 && pool.concerns(mac, claim)) hostConflicts += 1;
  }
  return { ...pool.counts, conflicts, hostConflicts };
}
