/**
 * Rest and load take turns, so that a slow while of the machine falls on both. What counts is the round in the middle, by what
 * the load makes of the rest in the same round. The slowest hundredth of a round is one or two samples, which vary by a third
 * from round to round with no load at all, so that there are many rounds.
 */
export const ROUNDS = 9;
export const ROUND_MS = 6_000;

export interface Round {
  readonly loaded: number;
  readonly atRest: number;
}

export function medianRound(rounds: readonly Round[]): Round {
  const sorted = rounds.toSorted((one, other) => one.loaded / one.atRest - other.loaded / other.atRest);
  return sorted[Math.floor(sorted.length / 2)] ?? { loaded: Number.NaN, atRest: Number.NaN };
}
