/** When the operator first saw what it still sees: for what has no timestamp of its own in the cluster. */

/** What a former process said of pods that can't run. */
export interface Told {
  /** Wall clock, like all times here. */
  readonly sinceMs: number;
  readonly text: string;
}

export class FirstSeen {
  readonly #since = new Map<string, number>();
  #seen = new Set<string>();
  /** What is seen before this process changes anything may be what a former one has told. */
  #told: Told | undefined;

  constructor(told?: Told) {
    this.#told = told;
  }

  /** `sign`: how a former process would have named it. Undefined for what it can't have seen. */
  sinceMs(what: string, nowMs: number, sign: string | undefined): number {
    this.#seen.add(what);
    const known = this.#since.get(what);
    if (known !== undefined) return known;
    const told = this.#told;
    const since = sign !== undefined && told?.text.includes(sign) ? told.sinceMs : nowMs;
    this.#since.set(what, since);
    return since;
  }

  /** From now on this process changes what it sees. */
  beginChanges(): void {
    this.#told = undefined;
  }

  /** Ends a round: what was not seen in it is forgotten. */
  endRound(): void {
    for (const what of this.#since.keys()) if (!this.#seen.has(what)) this.#since.delete(what);
    this.#seen = new Set();
  }
}
