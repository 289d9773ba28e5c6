import type { Clock } from "../../../kube/clock.ts";

/** The same question, asked at most once in a time: many readers cost as much as one. A failure is kept as well. */
export function keptFor<T>(keptMs: number, clock: Pick<Clock, "monotonicMs">, ask: () => Promise<T>): () => Promise<T> {
  let kept: { readonly untilMs: number; readonly answer: Promise<T> } | undefined;
  return () => {
    const nowMs = clock.monotonicMs();
    if (kept === undefined || kept.untilMs <= nowMs) kept = { untilMs: nowMs + keptMs, answer: ask() };
    return kept.answer;
  };
}
