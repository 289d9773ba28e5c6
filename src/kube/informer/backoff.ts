/** Delays that double from `baseMs` to `maxMs`. */
export interface Backoff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** Delay after the n-th failure in a row (1 = first): random between half the step and the full step. */
export function backoffMs(backoff: Backoff, failures: number, random: () => number): number {
  const step = Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(Math.max(failures - 1, 0), 40));
  return step * (0.5 + random() / 2);
}
