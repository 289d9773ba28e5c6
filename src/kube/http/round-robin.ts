import type { Clock } from "../clock.ts";

/** Lets one of those who wait go every `everyMs`. Client addresses take turns; those of one address go in order. */
export class RoundRobin {
  readonly #clock: Clock;
  readonly #everyMs: number;
  /** The address whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** Calls `go` once. */
  wait(address: string, go: () => void): void {
    const isFirst = this.#waiting.size === 0;
    const ofAddress = this.#waiting.get(address);
    if (ofAddress === undefined) this.#waiting.set(address, [go]);
    else ofAddress.push(go);
    if (isFirst) this.#scheduleNext();
  }

  #scheduleNext(): void {
    this.#clock.after(this.#everyMs, () => {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [address, [go, ...others]] = next;
      this.#waiting.delete(address);
      if (others.length > 0) this.#waiting.set(address, others);
      if (this.#waiting.size > 0) this.#scheduleNext();
      go?.();
    });
  }
}
