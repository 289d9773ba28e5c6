/**
 * The queue between watches and reconcilers. It holds keys, not events: however often an object changed, its key is queued
 * once. A key that is added while it is being worked on comes again after `done`, so no change is missed and no key is
 * worked on twice at a time.
 */
import { type Clock, systemClock } from "../clock.ts";
import { type Backoff, backoffMs } from "./backoff.ts";
import { type RateLimit, TokenBucket } from "./token-bucket.ts";

const DEFAULT_BACKOFF: Backoff = { baseMs: 20, maxMs: 60_000 };
/** Limit of the retries of all keys together, as in client-go: a thousand failing keys must not flood the API server. */
const DEFAULT_RETRY_LIMIT: RateLimit = { perSecond: 10, burst: 100 };

export interface WorkQueueOptions {
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly backoff?: Backoff;
  readonly retryLimit?: RateLimit;
  readonly observer?: WorkQueueObserver;
}

/** Called with what happens, for metrics. */
export interface WorkQueueObserver {
  added?(depth: number): void;
  started?(depth: number, waitedMs: number): void;
  finished?(workedMs: number): void;
  retried?(): void;
}

export class WorkQueue {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #backoff: Backoff;
  readonly #retries: TokenBucket;
  readonly #observer: WorkQueueObserver;
  /** Ready keys in order, with the time they became ready. */
  readonly #ready = new Map<string, number>();
  /** Keys being worked on, with the time that began. */
  readonly #active = new Map<string, number>();
  /** Keys that were added while active. */
  readonly #again = new Set<string>();
  readonly #later = new Map<string, { readonly atMs: number; readonly cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  readonly #waiters = new Set<() => void>();
  #state: "open" | "draining" | "closed" = "open";

  constructor(options: WorkQueueOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#backoff = options.backoff ?? DEFAULT_BACKOFF;
    this.#retries = new TokenBucket(options.retryLimit ?? DEFAULT_RETRY_LIMIT);
    this.#observer = options.observer ?? {};
  }

  /** Keys that are ready and not yet taken. */
  get length(): number {
    return this.#ready.size;
  }

  /** How long the running work has taken so far: all keys together, and the longest. */
  get unfinished(): { readonly totalMs: number; readonly longestMs: number } {
    const now = this.#clock.monotonicMs();
    let totalMs = 0;
    let longestMs = 0;
    for (const since of this.#active.values()) {
      totalMs += now - since;
      longestMs = Math.max(longestMs, now - since);
    }
    return { totalMs, longestMs };
  }

  add(key: string): void {
    if (this.#state !== "open" || this.#ready.has(key)) {
      return;
    }
    if (this.#active.has(key)) {
      this.#again.add(key);
      return;
    }
    this.#ready.set(key, this.#clock.monotonicMs());
    this.#observer.added?.(this.#ready.size);
    this.#wakeOne();
  }

  /** Adds the key after `delayMs`. Of several pending times the earliest counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#state !== "open") {
      return;
    }
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const atMs = this.#clock.monotonicMs() + delayMs;
    const pending = this.#later.get(key);
    if (pending !== undefined && pending.atMs <= atMs) {
      return;
    }
    pending?.cancel();
    const cancel = this.#clock.after(delayMs, () => {
      this.#later.delete(key);
      this.add(key);
    });
    this.#later.set(key, { atMs, cancel });
  }

  /** Adds the key after a delay that doubles each time until `forget`, or later if too many keys are retried. */
  retry(key: string): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    this.#observer.retried?.();
    const delayMs = backoffMs(this.#backoff, failures, this.#random);
    this.addAfter(key, Math.max(delayMs, this.#retries.takeMs(this.#clock.monotonicMs())));
  }

  /** The key succeeded: its next failure begins with the shortest delay. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  /** How often the key was retried since it was last forgotten. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The next key, or undefined once the queue is shut down. Each key taken must be given to `done`. */
  async next(signal?: AbortSignal): Promise<string | undefined> {
    for (;;) {
      signal?.throwIfAborted();
      if (this.#state === "closed") {
        return undefined;
      }
      const first = this.#ready.entries().next();
      if (!first.done) {
        const [key, readySinceMs] = first.value;
        const now = this.#clock.monotonicMs();
        this.#ready.delete(key);
        this.#active.set(key, now);
        this.#observer.started?.(this.#ready.size, now - readySinceMs);
        return key;
      }
      if (this.#state === "draining") {
        return undefined;
      }
      await this.#wait(signal);
    }
  }

  done(key: string): void {
    const since = this.#active.get(key);
    if (since === undefined) {
      return;
    }
    this.#active.delete(key);
    this.#observer.finished?.(this.#clock.monotonicMs() - since);
    if (this.#again.delete(key)) {
      this.add(key);
    }
  }

  /** Takes no more keys and drops delayed ones. With `drain` the ready ones are still given out, otherwise dropped. */
  shutdown(options: { readonly drain?: boolean } = {}): void {
    this.#state = options.drain ? "draining" : "closed";
    for (const { cancel } of this.#later.values()) {
      cancel();
    }
    this.#later.clear();
    this.#again.clear();
    for (const wake of [...this.#waiters]) {
      wake();
    }
  }

  #wakeOne(): void {
    for (const wake of this.#waiters) {
      wake();
      return;
    }
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiters.delete(wake);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiters.add(wake);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }
}
