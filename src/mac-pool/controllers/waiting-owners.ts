import type { ClaimOwner } from "../../api/mac-claim.ts";
import type { Clock } from "../../kube/clock.ts";

/** By the monotonic clock. */
interface Seen {
  readonly owner: ClaimOwner;
  readonly atMs: number;
}

/**
 * How long each owner of a claim has been waited for, counted from when this process first saw it there and by the
 * monotonic clock. An owner that is admitted again has another `since`, and is another one here. A burst of creations
 * makes thousands of these, so they hold the owners of the cached claims and nothing of their own.
 */
export class WaitingOwners {
  readonly #clock: Clock;
  readonly #seen = new Map<string, readonly Seen[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds for each owner in its order; who is not among them any more is forgotten. */
  elapsedMs(key: string, owners: readonly ClaimOwner[]): readonly number[] {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#seen.get(key);
    const seen = owners.map((owner) => {
      const known = before?.find((one) => isSameWait(one.owner, owner));
      return { owner, atMs: known?.atMs ?? nowMs };
    });
    this.#seen.set(key, seen);
    return seen.map(({ atMs }) => nowMs - atMs);
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}

function isSameWait(a: ClaimOwner, b: ClaimOwner): boolean {
  return (
    a.since === b.since &&
    a.kind === b.kind &&
    a.namespace === b.namespace &&
    a.name === b.name &&
    a.generateName === b.generateName &&
    a.uid === b.uid
  );
}
