/** Conditions that become true by themselves: asked again and again with a deadline, never slept for. */

const POLL_MS = 50;

export interface Waited<T> {
  readonly value: T;
  readonly ms: number;
}

/**
 * Asks `probe` until it gives something else than undefined or false; the error at the deadline says `what` was waited
 * for and what `state` was last. A probe that throws counts as not yet, its message is part of that error.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false>,
  options: { readonly limitMs: number; readonly signal: AbortSignal; readonly state?: () => string },
): Promise<Waited<T>> {
  const startedMs = performance.now();
  let last = "";
  for (;;) {
    try {
      const value = await probe();
      const ms = Math.round(performance.now() - startedMs);
      if (value !== undefined && value !== false) return { value, ms };
      last = "";
    } catch (error) {
      last = ` (${error instanceof Error ? error.message : String(error)})`;
    }
    options.signal.throwIfAborted();
    if (performance.now() - startedMs > options.limitMs) {
      const state = options.state === undefined ? "" : `; now: ${options.state()}`;
      throw new Error(`waited ${options.limitMs / 1000} s for ${what}${state}${last}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Throws `problem` unless `holds`. */
export function must(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Error(problem);
}
