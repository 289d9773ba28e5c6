/** Limits concurrent calls; the others wait, first come first served. */
export class Semaphore {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get running(): number {
    return this.#running;
  }

  /** Resolves when there is room. The returned function must be called once, when the call is over. */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#running >= this.#limit) {
      await this.#wait(signal);
    } else {
      this.#running++;
    }
    return () => this.#release();
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(proceed);
        reject(signal?.reason);
      };
      const proceed = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#waiting.add(proceed);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** The place goes to the next in line, so no call overtakes another. */
  #release(): void {
    for (const proceed of this.#waiting) {
      this.#waiting.delete(proceed);
      proceed();
      return;
    }
    this.#running--;
  }
}
