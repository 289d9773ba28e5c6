import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";

/** Lines within each second; a metric counts everything. */
const MAX_PER_SECOND = 10;

export interface BoundedLogOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly level: "info" | "warn";
  /** What the lines are about, in the plural. */
  readonly about: string;
}

/** Logs what strangers can cause any number of times. Of a flood it logs as much as somebody can read, and how much was left out. */
export class BoundedLog {
  readonly #options: BoundedLogOptions;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #leftOut = 0;

  constructor(options: BoundedLogOptions) {
    this.#options = options;
  }

  add(fields: Readonly<Record<string, unknown>>, message: string): void {
    const { log, clock, level, about } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#sinceMs >= 1000) {
      if (this.#leftOut > 0) {
        log[level]({ leftOut: this.#leftOut }, `more ${about}, which are counted and not logged`);
      }
      this.#sinceMs = nowMs;
      this.#lines = 0;
      this.#leftOut = 0;
    }
    if (this.#lines >= MAX_PER_SECOND) this.#leftOut += 1;
    else {
      this.#lines += 1;
      log[level](fields, message);
    }
  }
}
