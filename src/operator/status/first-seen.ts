/** When the operator first saw what it still sees: for what has no timestamp of its own in the cluster. */

export class FirstSeen {
  readonly #since = new Map<string, number>();
  #seen = new Set<string>();
  /** What is seen in the first round has been there for unknown time. */
  #startMs: number | undefined;

  /** `startMs`: since when what is seen in the first round counts as seen. Wall clock, like all times here. */
  constructor(startMs?: number) {
    this.#startMs = startMs;
  }

  sinceMs(what: string, nowMs: number): number {
    this.#seen.add(what);
    const known = this.#since.get(what);
    if (known !== undefined) return known;
    const since = this.#startMs ?? nowMs;
    this.#since.set(what, since);
    return since;
  }

  /** Ends a round: what was not seen in it is forgotten. */
  endRound(): void {
    for (const what of this.#since.keys()) if (!this.#seen.has(what)) this.#since.delete(what);
    this.#seen = new Set();
    this.#startMs = undefined;
  }
}
