import type { Clock } from "../../kube/clock.ts";
import {
  MAX_LATE_PER_POOL,
  MIN_LATE_PER_NAMESPACE,
  maxLateInNamespace,
  maxUnseenInNamespace,
} from "../claims/limits.ts";
import { pendingLimit, type Refusal, unseenLimit } from "../claims/refusals.ts";
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
 * The refusal where a namespace or a pool has as many late claims as it may have, or a namespace as many whose objects are
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
  const late = pending.lateIn(namespace, nowMs);
  const most = maxLateInNamespace(capacity);
  if (late >= most) return pendingLimit(`namespace ${namespace}`, most, pendingMs);
  const mostUnseen = maxUnseenInNamespace(capacity);
  if (pending.freshIn(namespace, nowMs) + late + wanted > mostUnseen) return unseenLimit(namespace, mostUnseen);
  if (pool === undefined || pending.lateCount < MAX_LATE_PER_POOL || late < MIN_LATE_PER_NAMESPACE) return undefined;
  const lateInPool = [...pending.late].filter((mac) => pool.has(mac)).length;
  return lateInPool < MAX_LATE_PER_POOL
    ? undefined
    : pendingLimit(`MACPool ${pool.name}`, MAX_LATE_PER_POOL, pendingMs);
}
