import type { ClaimOwner } from "../../api/mac-claim.ts";
import type { Clock } from "../../kube/clock.ts";
import { FirstSeen } from "../controllers/first-seen.ts";

/**
 * How long admitted starts still count as running. Counted from when this process first saw the start, by its own clock: the
 * time in the claim is another replica's. Who follows the claims sees each start when it is written.
 */
export class StartTimes {
  readonly #seen: FirstSeen;
  readonly #startingMs: () => number;

  constructor(clock: Clock, startingMs: () => number) {
    this.#seen = new FirstSeen(clock);
    this.#startingMs = startingMs;
  }

  /** Milliseconds that the start of this owner still counts; 0 where there is none. */
  leftMs(claim: string, owner: ClaimOwner): number {
    if (owner.starting === undefined) return 0;
    return Math.max(0, this.#startingMs() - this.#seen.elapsedMs(keyOf(claim, owner), owner.starting));
  }

  see(claim: string, owners: readonly ClaimOwner[]): void {
    for (const owner of owners) this.leftMs(claim, owner);
  }

  forget(claim: string, owners: readonly ClaimOwner[]): void {
    for (const owner of owners) this.#seen.forget(keyOf(claim, owner));
  }
}

const keyOf = (claim: string, { kind, namespace, name, uid }: ClaimOwner): string =>
  `${claim} ${kind} ${namespace}/${name ?? ""} ${uid ?? ""}`;
