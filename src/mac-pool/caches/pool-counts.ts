import { meetingOwners } from "../core/meeting-owners.ts";
import type { Pool, PoolCounts } from "../core/pool.ts";
import type { Caches } from "./caches.ts";

/** The pool's counters, with those addresses in conflict whose owners can meet. */
export function countsOf(pool: Pool, { index, networks, ownersOf }: Caches): PoolCounts {
  let { conflicts } = pool.counts;
  for (const mac of index.shared) {
    const claim = index.claim(mac);
    if (claim === undefined || !pool.concerns(mac, claim)) continue;
    if (meetingOwners(ownersOf(mac), networks.cached).length === 0) conflicts -= 1;
  }
  return { ...pool.counts, conflicts };
}
