import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";

/** Lines within each second; a metric counts all refusals. */
const MAX_PER_SECOND = 10;

/** Logs refusals, and of a flood as many as somebody can read: then how many were left out. */
export class RefusalLog {
  readonly #log: Log;
  readonly #clock: Clock;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #leftOut = 0;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  add(fields: Readonly<Record<string, unknown>>, message: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#sinceMs >= 1000) {
      if (this.#leftOut > 0)
        this.#log.info({ leftOut: this.#leftOut }, "more refusals, which are counted and not logged");
      this.#sinceMs = nowMs;
      this.#lines = 0;
      this.#leftOut = 0;
    }
    if (this.#lines >= MAX_PER_SECOND) this.#leftOut += 1;
    else {
      this.#lines += 1;
      this.#log.info(fields, message);
    }
  }
}
