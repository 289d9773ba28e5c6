import type { Mac } from "../../api/mac.ts";
import type { ClaimOwner, MACClaim } from "../../api/mac-claim.ts";
import { DEFAULT_QUARANTINE_SECONDS } from "../../api/mac-pool.ts";
import type { Clock } from "../../kube/clock.ts";
import { isWaiting, statusOf } from "../core/claim.ts";
import type { PoolIndex } from "../core/pool-index.ts";
import { FirstSeen } from "./first-seen.ts";
import { WaitingOwners } from "./waiting-owners.ts";

/** How long claims wait for their owners and rest in quarantine, counted from when this process first saw it. */
export class ClaimTimes {
  readonly #index: PoolIndex;
  readonly #waiting: WaitingOwners;
  readonly #rests: FirstSeen;

  constructor(index: PoolIndex, clock: Clock) {
    this.#index = index;
    this.#waiting = new WaitingOwners(clock);
    this.#rests = new FirstSeen(clock);
  }

  /** The owners whose wait is over, and when the next one's will be. */
  waits(
    key: string,
    claim: MACClaim | undefined,
  ): { readonly overdue: ReadonlySet<ClaimOwner>; readonly nextMs: number | undefined } {
    const status = claim === undefined ? undefined : statusOf(claim);
    if (status === undefined || !isWaiting(status)) {
      this.#waiting.forget(key);
      return { overdue: new Set(), nextMs: undefined };
    }
    const elapsed = this.#waiting.elapsedMs(key, status.owners);
    const { pendingMs } = this.#index;
    const overdue = status.owners.filter((_, position) => (elapsed[position] ?? 0) >= pendingMs);
    const left = elapsed.map((ms) => pendingMs - ms).filter((ms) => ms > 0);
    return { overdue: new Set(overdue), nextMs: left.length === 0 ? undefined : Math.min(...left) };
  }

  /** How long the quarantine still lasts: undefined without one, 0 when it is over. */
  restMs(key: string, claim: MACClaim | undefined, mac: Mac): number | undefined {
    const status = claim === undefined ? undefined : statusOf(claim);
    if (claim === undefined || status?.phase !== "Quarantined") {
      this.#rests.forget(key);
      return undefined;
    }
    return Math.max(0, this.quarantineMs(claim, mac) - this.#rests.elapsedMs(key, status.until ?? ""));
  }

  quarantineMs(claim: MACClaim | undefined, mac: Mac): number {
    return quarantineOf(this.#index, claim, mac);
  }
}

/** How long an address rests: as its claim's pool says, else the one that has it. */
export function quarantineOf(index: PoolIndex, claim: MACClaim | undefined, mac: Mac): number {
  const pool = index.pool(claim?.spec.pool ?? "") ?? index.pools().find((candidate) => candidate.has(mac));
  return pool?.settings.quarantineMs ?? DEFAULT_QUARANTINE_SECONDS * 1000;
}
