import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Lines within each second; a metric counts everything. */
const MAX_PER_SECOND = 10;
const SECOND_MS = 1000;

export interface RateLimitedLogOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly level: "info" | "warn";
  /** What the lines are about, in the plural. */
  readonly about: string;
}

/** Logs what strangers can cause any number of times. Of a flood it logs as much as somebody can read, and how much was left out. */
export class RateLimitedLog {
  readonly #options: RateLimitedLogOptions;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #leftOut = 0;

  constructor(options: RateLimitedLogOptions) {
    this.#options = options;
  }

  add(fields: Readonly<Record<string, unknown>>, message: string): void {
    const { log, clock, level } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#sinceMs >= SECOND_MS) {
      this.#logLeftOut();
      this.#sinceMs = nowMs;
      this.#lines = 0;
    }
    if (this.#lines < MAX_PER_SECOND) {
      this.#lines += 1;
      log[level](fields, message);
    } else if (this.#leftOut++ === 0) {
      // No line follows the last one of a flood, so a timer reports what was left out.
      clock.after(this.#sinceMs + SECOND_MS - nowMs, () => this.#logLeftOut());
    }
  }

  #logLeftOut(): void {
    const { log, level, about } = this.#options;
    if (this.#leftOut === 0) return;
    log[level]({ leftOut: this.#leftOut }, `more ${about}, which are counted and not logged`);
    this.#leftOut = 0;
  }
}
