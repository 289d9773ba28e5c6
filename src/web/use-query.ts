import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { addressOf, ask, type Parameters, Problem } from "./client.ts";
import { refreshTick } from "./refresh-tick.ts";
import { token } from "./session.ts";

/** One answer of the pool, kept up to date. After a failure the last good value stays. */
export interface QueryResult<T> {
  readonly value: Signal<T | undefined>;
  readonly problem: Signal<Problem | undefined>;
}

/** Asks when the URL changes, and again with each refresh. Without a path it does not ask. */
export function useQuery<T>(path: string | undefined, parameters: Parameters = {}): QueryResult<T> {
  const value = useSignal<T | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const url = path === undefined ? undefined : addressOf(path, parameters);
  const askedUrl = useSignal<string | undefined>(undefined);
  const tick = refreshTick.value;
  useEffect(() => {
    if (askedUrl.value !== url) {
      value.value = undefined;
      problem.value = undefined;
    }
    askedUrl.value = url;
    if (path === undefined) return;
    const stop = new AbortController();
    ask<T>(path, parameters, stop.signal).then(
      (answer) => {
        if (stop.signal.aborted) return;
        value.value = answer;
        problem.value = undefined;
      },
      (error: unknown) => {
        if (!stop.signal.aborted) problem.value = problemFrom(error);
      },
    );
    return () => stop.abort();
  }, [url, tick, token.value]);
  return { value, problem };
}

export function problemFrom(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, "", error instanceof Error ? error.message : String(error));
}
