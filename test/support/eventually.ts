/** Conditions that become true by themselves: asked again and again with a deadline, never slept for. */

import { patience } from "./patience.ts";

const LIMIT_MS = 45_000;
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 200;
/** Of the time that was waited so far: whoever waits for long asks less often. */
const PAUSE = 0.1;

export interface Wait {
  /** On an idle machine; a busy one gets more (`patience.ts`). */
  readonly limitMs?: number;
  readonly signal?: AbortSignal;
  /** What is the case now, for the error at the deadline. */
  readonly state?: () => string;
}

/**
 * Asks `probe` until it gives something else than undefined or false, and gives that. A probe that throws counts as not
 * yet. The error at the deadline says `what` was waited for and what the probe threw last.
 */
export async function eventually<T>(
  what: string,
  probe: () => T | Promise<T>,
  { limitMs = LIMIT_MS, signal, state }: Wait = {},
): Promise<Exclude<T, false | undefined>> {
  const allowedMs = limitMs * patience();
  const startMs = performance.now();
  let cause: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== false && value !== undefined) return value as Exclude<T, false | undefined>;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    signal?.throwIfAborted();
    const waitedMs = performance.now() - startMs;
    if (waitedMs > allowedMs) {
      const now = state === undefined ? "" : `; now: ${state()}`;
      const last = cause instanceof Error ? ` (${cause.message})` : "";
      throw new Error(`waited ${Math.round(allowedMs) / 1000} s for ${what}${now}${last}`, { cause });
    }
    const pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, waitedMs * PAUSE));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
