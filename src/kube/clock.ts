import { setImmediate } from "node:timers/promises";

/**
 * Time as an argument. Everything in `src/kube` that waits or measures takes a `Clock`, so tests and simulations can
 * drive it. Imports nothing of ours.
 */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. For timestamps in objects only; it may jump. */
  now(): number;
  /** Never goes back, and goes on while the process is stopped. For every duration and deadline. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms`; the returned function cancels it. */
  after(ms: number, callback: () => void): () => void;
  /** Resolves once whatever waits for the event loop has had its turn. Simulated time has no turns, and leaves it out. */
  nextTurn?(): Promise<void>;
}

/** Above 2^31-1 setTimeout fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
        Math.min(ms, MAX_TIMER_MS),
      );
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  },
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
  nextTurn: () => setImmediate(),
};
