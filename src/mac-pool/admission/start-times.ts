import type { ClaimOwner } from "../../api/mac-claim.ts";
import type { Clock } from "../../kube/clock.ts";

export interface StartTimesOptions {
  readonly clock: Clock;
  /** How long an admitted start counts as running. */
  readonly startingMs: () => number;
  /** Owners of a claim, as far as the cache knows. */
  readonly ownersOf: (claim: string) => readonly ClaimOwner[];
}

interface Start {
  /** The time in the claim, which tells it from another start of the owner. */
  readonly starting: string;
  readonly seenMs: number;
}

/**
 * How long admitted starts still count as running. Counted from when this process first saw the start, by its own clock: the
 * time in the claim is another replica's. Who follows the claims sees each start when it is written. One that counts no longer
 * is forgotten: what the cache shows and is not known here is over.
 */
export class StartTimes {
  readonly #options: StartTimesOptions;
  /** By claim and owner, the oldest first. */
  readonly #starts = new Map<string, Start>();

  constructor(options: StartTimesOptions) {
    this.#options = options;
  }

  /** Of those that count, and some that did a moment ago. */
  get size(): number {
    return this.#starts.size;
  }

  /** Milliseconds that the start of this owner still counts; 0 where there is none. */
  leftMs(claim: string, owner: ClaimOwner): number {
    const { starting } = owner;
    if (starting === undefined) return 0;
    this.#forgetOver();
    const key = keyOf(claim, owner);
    const known = this.#starts.get(key);
    if (known?.starting === starting) return known.seenMs + this.#options.startingMs() - this.#nowMs();
    const isOver = this.#options.ownersOf(claim).some((cached) => isStart(cached, key, claim, starting));
    if (isOver) return 0;
    this.#note(key, starting);
    return this.#options.startingMs();
  }

  /** The owners of a claim as they are from now on, and as they were. */
  see(claim: string, owners: readonly ClaimOwner[] = [], before: readonly ClaimOwner[] = []): void {
    this.#forgetOver();
    for (const owner of owners) {
      const { starting } = owner;
      if (starting === undefined) continue;
      const key = keyOf(claim, owner);
      if (this.#starts.get(key)?.starting === starting) continue;
      if (!before.some((old) => isStart(old, key, claim, starting))) this.#note(key, starting);
    }
  }

  #note(key: string, starting: string): void {
    this.#starts.delete(key);
    this.#starts.set(key, { starting, seenMs: this.#nowMs() });
  }

  #forgetOver(): void {
    const overMs = this.#nowMs() - this.#options.startingMs();
    for (const [key, { seenMs }] of this.#starts) {
      if (seenMs > overMs) return;
      this.#starts.delete(key);
    }
  }

  #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }
}

const keyOf = (claim: string, { kind, namespace, name, uid }: ClaimOwner): string =>
  `${claim} ${kind} ${namespace}/${name ?? ""} ${uid ?? ""}`;

function isStart(owner: ClaimOwner, key: string, claim: string, starting: string): boolean {
  return owner.starting === starting && keyOf(claim, owner) === key;
}
