import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../../kube/clock.ts";

const TURN_MS = 2;

/** A turn of the event loop. Admission has the same thread, so long work gives its turn away now and then. */
export class Turn {
  readonly #clock: Clock;
  #beganMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.monotonicMs();
  }

  /** Between two pieces of the work. */
  async share(): Promise<void> {
    if (this.#clock.monotonicMs() - this.#beganMs < TURN_MS) return;
    await nextTurn();
    this.#beganMs = this.#clock.monotonicMs();
  }
}
