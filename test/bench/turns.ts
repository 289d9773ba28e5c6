/**
 * Rest and load take turns, so that a slow while of the machine falls on both. What counts is the round in the middle, by what
 * the load makes of the rest in the same round.
 */
export const ROUNDS = 5;
export const ROUND_MS = 6_000;
export const SHORT_ROUND_MS = 1_000;

export interface Round {
  readonly loaded: number;
  readonly atRest: number;
}

export function medianRound(rounds: readonly Round[]): Round {
  const sorted = rounds.toSorted((one, other) => one.loaded / one.atRest - other.loaded / other.atRest);
  return sorted[Math.floor(sorted.length / 2)] ?? { loaded: Number.NaN, atRest: Number.NaN };
}
