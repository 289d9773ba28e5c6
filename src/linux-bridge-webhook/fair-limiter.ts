import { Semaphore } from "../kube/client/semaphore.ts";

export interface FairLimits {
  readonly inAll: number;
  /** For each party. Less than `inAll`. */
  readonly each: number;
}

/** Limits concurrent calls in all and for each party, so that none of them makes the others wait for long. */
export class FairLimiter {
  readonly #limits: FairLimits;
  readonly #all: Semaphore;
  readonly #parties = new Map<string, { readonly limit: Semaphore; users: number }>();

  constructor(limits: FairLimits) {
    this.#limits = limits;
    this.#all = new Semaphore(limits.inAll);
  }

  /** Parties with a call that runs or waits. */
  get parties(): number {
    return this.#parties.size;
  }

  /** Makes the call when the limits allow it. Rejects with the signal's reason when that comes first. */
  async run<T>(party: string, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const own = this.#parties.get(party) ?? { limit: new Semaphore(this.#limits.each), users: 0 };
    this.#parties.set(party, own);
    own.users += 1;
    try {
      return await within(own.limit, signal, () => within(this.#all, signal, call));
    } finally {
      own.users -= 1;
      if (own.users === 0) this.#parties.delete(party);
    }
  }
}

async function within<T>(limit: Semaphore, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  const release = await limit.acquire(signal);
  try {
    return await call();
  } finally {
    release();
  }
}
