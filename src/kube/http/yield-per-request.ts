import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Begins one request a turn of the event loop, in the order in which they came. Many may arrive in one turn; what else the
 * process answers is read between them.
 */
export class YieldPerRequest {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the next one may begin. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => nextTurn());
    return this.#last;
  }
}
