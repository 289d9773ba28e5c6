import { MAX_PENDING_PER_NAMESPACE, MAX_PENDING_PER_POOL } from "../core/limits.ts";
import type { Pool } from "../core/pool.ts";
import type { PoolIndex } from "../core/pool-index.ts";
import { pendingLimit, type Refusal } from "../core/refusals.ts";

interface Asked {
  readonly party: { readonly namespace: string };
  readonly pool: Pool | undefined;
  readonly wishes: readonly unknown[];
}

/** The refusal where a namespace or a pool has as many claims of objects not created yet as it may have; else undefined. */
export function pendingLimitReached(index: PoolIndex, { party, pool, wishes }: Asked): Refusal | undefined {
  if (index.pendingIn(party.namespace) + wishes.length > MAX_PENDING_PER_NAMESPACE) {
    return pendingLimit(`namespace ${party.namespace}`, MAX_PENDING_PER_NAMESPACE, index.pendingMs);
  }
  if (pool !== undefined && pool.counts.pending + wishes.length > MAX_PENDING_PER_POOL) {
    return pendingLimit(`MACPool ${pool.name}`, MAX_PENDING_PER_POOL, index.pendingMs);
  }
  return undefined;
}
