import type { ClaimOwner } from "../../api/mac-claim.ts";
import type { Clock } from "../../kube/clock.ts";

/**
 * How long each owner of a claim has been waited for, counted from when this process first saw it there and by the
 * monotonic clock. An owner that is admitted again has another `since`, and is another one here.
 */
export class WaitingOwners {
  readonly #clock: Clock;
  readonly #seenMs = new Map<string, ReadonlyMap<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds for each owner in its order; who is not among them any more is forgotten. */
  elapsedMs(key: string, owners: readonly ClaimOwner[]): readonly number[] {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#seenMs.get(key);
    const seen = owners.map((owner) => [identityOf(owner), before?.get(identityOf(owner)) ?? nowMs] as const);
    this.#seenMs.set(key, new Map(seen));
    return seen.map(([, atMs]) => nowMs - atMs);
  }

  forget(key: string): void {
    this.#seenMs.delete(key);
  }
}

const identityOf = ({ kind, namespace, name, generateName, uid, since }: ClaimOwner): string =>
  JSON.stringify([kind, namespace, name, generateName, uid, since]);
