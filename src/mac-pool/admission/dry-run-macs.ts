import type { Mac } from "../../api/mac.ts";
import type { Clock } from "../../kube/clock.ts";
import { isLastChoice } from "../claims/listing-objects.ts";
import type { ObservedOwner } from "../claims/owner.ts";
import type { Pool } from "../pools/pool.ts";
import type { PoolIndex } from "../pools/pool-index.ts";
import { excludedAddresses, heldAddresses } from "./claim-request.ts";

interface Source {
  readonly index: PoolIndex;
  readonly random: () => number;
  readonly clock: Clock;
  readonly objectsListing: (mac: Mac) => readonly ObservedOwner[];
}

interface Wanted {
  readonly pool: Pool | undefined;
  /** Those without an address want one. */
  readonly wantedInterfaces: readonly { readonly mac: Mac | undefined }[];
  /** Addresses that the object lists itself. */
  readonly listed: ReadonlySet<Mac>;
}

/**
 * Addresses that a dry run may show, a different one for each that is wanted; the next request may get the same. None where
 * the pool has too few.
 */
export function dryRunMacs(source: Source, { pool, wantedInterfaces, listed }: Wanted): Mac[] {
  const wanted = wantedInterfaces.filter(({ mac }) => mac === undefined).length;
  if (pool === undefined || wanted === 0) return [];
  const { free, quarantined } = pool.counts;
  if (wanted > free + quarantined) return [];
  const first = Math.floor(source.random() * free);
  const isExcluded = excludedAddresses(listed, source);
  const isHeld = heldAddresses(listed, source);
  const macs = new Set<Mac>();
  const lastChoices: Mac[] = [];
  for (let next = 0; next < free && macs.size < wanted; next++) {
    const mac = source.index.draw(pool, (((first + next) % free) + 0.5) / free, source.clock.monotonicMs());
    if (mac === undefined) break;
    if (!isExcluded(mac)) macs.add(mac);
    else if (!listed.has(mac) && isLastChoice(source.objectsListing(mac))) lastChoices.push(mac);
  }
  while (macs.size < wanted) {
    const mac =
      pool.oldestQuarantined((mac) => isExcluded(mac) || macs.has(mac)) ??
      lastChoices.pop() ??
      pool.oldestQuarantined((mac) => isHeld(mac) || macs.has(mac));
    if (mac === undefined) return [];
    macs.add(mac);
  }
  return [...macs];
}
