import type { Clock } from "../../../src/kube/clock.ts";
import { sleepBy } from "../../support/sleep.ts";

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
}

/** A clock that stands until it is told to go on. Wall time and monotonic time start apart and move together. */
export class ManualClock implements Clock {
  #monotonicMs = 1_000;
  #wallOffsetMs = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#monotonicMs + this.#wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** The wall clock jumps, as when somebody sets it. */
  jump(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { atMs: this.#monotonicMs + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepBy((delayMs, callback) => this.after(delayMs, callback), ms, signal);
  }

  /** Timers that are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Moves on, fires what is due in its order, and lets the code behind it run. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.atMs <= endMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) {
        break;
      }
      this.#timers.delete(due);
      this.#monotonicMs = Math.max(this.#monotonicMs, due.atMs);
      due.callback();
      await settle();
    }
    this.#monotonicMs = endMs;
    await settle();
  }
}

/** Lets everything run that only waits for promises. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
