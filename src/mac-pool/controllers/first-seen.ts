import type { Clock } from "../../kube/clock.ts";

/**
 * Since when this process knows a fact about a key. Durations are counted from there and by the monotonic clock, because
 * the time written into an object comes from another machine's clock.
 */
export class FirstSeen {
  readonly #clock: Clock;
  readonly #seen = new Map<string, { readonly fact: string; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds since this fact was first asked about; another fact under the same key starts anew. */
  elapsedMs(key: string, fact: string): number {
    const known = this.#seen.get(key);
    const nowMs = this.#clock.monotonicMs();
    if (known?.fact === fact) return nowMs - known.atMs;
    this.#seen.set(key, { fact, atMs: nowMs });
    return 0;
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}
