import type { Mac } from "../../api/mac.ts";
import type { Clock } from "../../kube/clock.ts";
import { MAX_LATE_PER_POOL, maxLateInNamespace } from "../core/limits.ts";
import type { Pool } from "../core/pool.ts";
import type { PoolIndex } from "../core/pool-index.ts";
import { pendingLimit, type Refusal } from "../core/refusals.ts";

interface Known {
  readonly index: PoolIndex;
  readonly clock: Clock;
  readonly listers: (mac: Mac) => readonly unknown[];
}

interface Asked {
  readonly party: { readonly namespace: string };
  readonly pool: Pool | undefined;
}

/** The refusal where a namespace or a pool has as many late claims as it may have; else undefined. */
export function pendingLimitReached({ index, clock, listers }: Known, { party, pool }: Asked): Refusal | undefined {
  const { pending, pendingMs } = index;
  pending.age(clock.monotonicMs(), (mac) => listers(mac).length > 0);
  const most = maxLateInNamespace(pool?.counts.capacity ?? Number.POSITIVE_INFINITY);
  if (pending.lateIn(party.namespace) >= most) return pendingLimit(`namespace ${party.namespace}`, most, pendingMs);
  if (pool === undefined || pending.lateCount < MAX_LATE_PER_POOL) return undefined;
  const lateInPool = [...pending.late].filter((mac) => pool.has(mac)).length;
  return lateInPool < MAX_LATE_PER_POOL
    ? undefined
    : pendingLimit(`MACPool ${pool.name}`, MAX_LATE_PER_POOL, pendingMs);
}
