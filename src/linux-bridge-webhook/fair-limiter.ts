import { Semaphore } from "../kube/client/semaphore.ts";

export interface FairLimits {
  readonly total: number;
  /** Less than `total`. */
  readonly perNamespace: number;
}

/** Limits concurrent calls in total and per namespace, so that no namespace makes the others wait for long. */
export class FairLimiter {
  readonly #limits: FairLimits;
  readonly #total: Semaphore;
  readonly #namespaces = new Map<string, { readonly limit: Semaphore; users: number }>();

  constructor(limits: FairLimits) {
    this.#limits = limits;
    this.#total = new Semaphore(limits.total);
  }

  /** Namespaces with a call that runs or waits. */
  get namespaces(): number {
    return this.#namespaces.size;
  }

  /** Makes the call when the limits allow it. Rejects with the signal's reason when that comes first. */
  async run<T>(namespace: string, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const own = this.#namespaces.get(namespace) ?? { limit: new Semaphore(this.#limits.perNamespace), users: 0 };
    this.#namespaces.set(namespace, own);
    own.users += 1;
    try {
      return await within(own.limit, signal, () => within(this.#total, signal, call));
    } finally {
      own.users -= 1;
      if (own.users === 0) this.#namespaces.delete(namespace);
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
