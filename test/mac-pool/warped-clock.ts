import { type Clock, systemClock } from "../../src/kube/clock.ts";
import { sleepBy } from "../support/sleep.ts";

/** The system's clock, which a test can put forward: what is due then happens at once. */
export class WarpedClock implements Clock {
  readonly #timers = new Set<{ readonly dueMs: number; readonly fire: () => void }>();
  #aheadMs = 0;

  now(): number {
    return systemClock.now() + this.#aheadMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs() + this.#aheadMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepBy((delayMs, callback) => this.after(delayMs, callback), ms, signal);
  }

  after(ms: number, callback: () => void): () => void {
    const end = (): void => {
      this.#timers.delete(timer);
      cancelReal();
    };
    const timer = {
      dueMs: this.monotonicMs() + ms,
      fire: () => {
        end();
        callback();
      },
    };
    this.#timers.add(timer);
    const cancelReal = systemClock.after(ms, timer.fire);
    return end;
  }

  putForward(ms: number): void {
    this.#aheadMs += ms;
    for (const timer of [...this.#timers]) if (timer.dueMs <= this.monotonicMs()) timer.fire();
  }
}
