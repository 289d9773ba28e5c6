import type { Clock } from "../clock.ts";

export interface Deadline {
  /** Is over this long from now, and in this way, if that is earlier. */
  shorten(limitMs: number, onOver: () => void): void;
  cancel(): void;
}

/**
 * The deadlines of all requests under way on one timer. Nearly every request is over long before its own, so the timer
 * is set for the earliest deadline there was and looks again when it fires: a request costs no timer.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #pending = new Set<Pending>();
  #wakesAtMs = Number.POSITIVE_INFINITY;
  #cancelTimer: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `onOver` once, after `limitMs`. */
  add(limitMs: number, onOver: () => void): Deadline {
    const pending = new Pending(this, this.#clock.monotonicMs() + limitMs, onOver);
    this.#pending.add(pending);
    this.#wakeBy(pending.atMs);
    return pending;
  }

  shorten(pending: Pending, limitMs: number, onOver: () => void): void {
    const atMs = this.#clock.monotonicMs() + limitMs;
    if (atMs >= pending.atMs || !this.#pending.has(pending)) return;
    pending.atMs = atMs;
    pending.onOver = onOver;
    this.#wakeBy(atMs);
  }

  cancel(pending: Pending): void {
    this.#pending.delete(pending);
  }

  /** Leaves no timer behind. */
  stop(): void {
    this.#cancelTimer();
    this.#wakesAtMs = Number.POSITIVE_INFINITY;
    this.#pending.clear();
  }

  #wakeBy(atMs: number): void {
    if (atMs >= this.#wakesAtMs) return;
    this.#cancelTimer();
    this.#wakesAtMs = atMs;
    this.#cancelTimer = this.#clock.after(Math.max(0, Math.ceil(atMs - this.#clock.monotonicMs())), () => this.#wake());
  }

  #wake(): void {
    this.#wakesAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonicMs();
    let nextMs = Number.POSITIVE_INFINITY;
    const over: Pending[] = [];
    for (const pending of this.#pending) {
      if (pending.atMs <= nowMs) over.push(pending);
      else nextMs = Math.min(nextMs, pending.atMs);
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#wakeBy(nextMs);
    for (const pending of over) {
      this.#pending.delete(pending);
      pending.onOver();
    }
  }
}

class Pending implements Deadline {
  readonly #deadlines: Deadlines;
  atMs: number;
  onOver: () => void;

  constructor(deadlines: Deadlines, atMs: number, onOver: () => void) {
    this.#deadlines = deadlines;
    this.atMs = atMs;
    this.onOver = onOver;
  }

  shorten(limitMs: number, onOver: () => void): void {
    this.#deadlines.shorten(this, limitMs, onOver);
  }

  cancel(): void {
    this.#deadlines.cancel(this);
  }
}
