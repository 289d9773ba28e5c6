/** When the operator first saw what it still sees: for what has no timestamp of its own in the cluster. */

/** What a former process reported of pods that can't run. */
export interface ReportedTrouble {
  /** Wall clock, like all times here. */
  readonly sinceMs: number;
  readonly text: string;
}

export class FirstSeen {
  readonly #since = new Map<string, number>();
  #seen = new Set<string>();
  /** What is seen before this process changes anything may be what a former one reported. */
  #reported: ReportedTrouble | undefined;

  constructor(reported?: ReportedTrouble) {
    this.#reported = reported;
  }

  /** `sign`: how a former process would have named it. Undefined for what it can't have seen. */
  sinceMs(what: string, nowMs: number, sign: string | undefined): number {
    this.#seen.add(what);
    const known = this.#since.get(what);
    if (known !== undefined) return known;
    const reported = this.#reported;
    const since = sign !== undefined && reported?.text.includes(sign) ? reported.sinceMs : nowMs;
    this.#since.set(what, since);
    return since;
  }

  /** From now on this process changes what it sees. */
  beginChanges(): void {
    this.#reported = undefined;
  }

  /** Ends a round: what was not seen in it is forgotten. */
  endRound(): void {
    for (const what of this.#since.keys()) if (!this.#seen.has(what)) this.#since.delete(what);
    this.#seen = new Set();
  }
}
