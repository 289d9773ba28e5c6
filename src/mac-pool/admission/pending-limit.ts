import type { Clock } from "../../kube/clock.ts";
import { overdueLimit, pendingLimit } from "../claims/limit-refusals.ts";
import {
  MAX_OVERDUE_PER_POOL,
  MIN_OVERDUE_PER_NAMESPACE,
  maxOverdueInNamespace,
  maxPendingInNamespace,
} from "../claims/limits.ts";
import type { Refusal } from "../claims/refusals.ts";
import type { Pool } from "../pools/pool.ts";
import type { PoolIndex } from "../pools/pool-index.ts";

interface Known {
  readonly index: PoolIndex;
  readonly clock: Clock;
}

interface Asked {
  readonly ref: { readonly namespace: string };
  readonly pool: Pool | undefined;
}

/**
 * The refusal where a namespace or a pool has as many overdue claims as it may have, or a namespace as many whose objects are
 * still on their way; else undefined. A pool that is at its limit refuses the namespaces that have a part in it. `wanted`: the
 * addresses that the requests of the namespace want that are under way, the one that asks included.
 */
export function pendingLimitReached(
  { index, clock }: Known,
  { ref: { namespace }, pool }: Asked,
  wanted: number,
): Refusal | undefined {
  const { pending, pendingMs } = index;
  const nowMs = clock.monotonicMs();
  const capacity = pool?.capacity ?? Number.POSITIVE_INFINITY;
  const overdue = pending.overdueIn(namespace, nowMs);
  const most = maxOverdueInNamespace(capacity);
  if (overdue >= most) return overdueLimit(`namespace ${namespace}`, most, pendingMs);
  const mostPending = maxPendingInNamespace(capacity);
  if (pending.freshIn(namespace, nowMs) + overdue + wanted > mostPending) return pendingLimit(namespace, mostPending);
  if (pool === undefined || pending.overdueCount < MAX_OVERDUE_PER_POOL || overdue < MIN_OVERDUE_PER_NAMESPACE)
    return undefined;
  const overdueInPool = [...pending.overdue].filter((mac) => pool.has(mac)).length;
  return overdueInPool < MAX_OVERDUE_PER_POOL
    ? undefined
    : overdueLimit(`MACPool ${pool.name}`, MAX_OVERDUE_PER_POOL, pendingMs);
}
