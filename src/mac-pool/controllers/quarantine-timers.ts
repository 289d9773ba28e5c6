import type { Mac } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import { DEFAULT_QUARANTINE_SECONDS } from "../../api/mac-pool.ts";
import type { Clock } from "../../kube/clock.ts";
import { statusOf } from "../claims/claim.ts";
import type { PoolIndex } from "../pools/pool-index.ts";

/**
 * How long addresses rest in quarantine, counted from when this process first saw that they do and by the monotonic clock: the
 * time in the claim is another machine's.
 */
export class QuarantineTimers {
  readonly #index: PoolIndex;
  readonly #clock: Clock;
  readonly #began = new Map<string, { readonly until: string; readonly atMs: number }>();

  constructor(index: PoolIndex, clock: Clock) {
    this.#index = index;
    this.#clock = clock;
  }

  /** How long the quarantine still lasts: undefined without one, 0 when it is over. */
  leftMs(key: string, claim: MACClaim | undefined, mac: Mac): number | undefined {
    if (claim === undefined || statusOf(claim).phase !== "Quarantined") {
      this.#began.delete(key);
      return undefined;
    }
    const { until = "" } = statusOf(claim);
    const nowMs = this.#clock.monotonicMs();
    const known = this.#began.get(key);
    const began = known?.until === until ? known : { until, atMs: nowMs };
    this.#began.set(key, began);
    return Math.max(0, began.atMs + quarantineOf(this.#index, claim, mac) - nowMs);
  }
}

/** How long an address rests: as its claim's pool says, else the one that has it. */
export function quarantineOf(index: PoolIndex, claim: MACClaim | undefined, mac: Mac): number {
  const pool = index.pool(claim?.spec.pool ?? "") ?? index.pools().find((candidate) => candidate.has(mac));
  return pool?.settings.quarantineMs ?? DEFAULT_QUARANTINE_SECONDS * 1000;
}
