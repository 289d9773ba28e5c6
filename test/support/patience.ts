/**
 * How many times slower than an idle machine this one is, by what the latest start of a control plane took here. Limits of
 * waits grow by it, so that a busy machine fails no test.
 */
const IDLE_START_MS = 4_000;
const MOST = 5;
let factor = 1;

export const patience = (): number => factor;

export function controlPlaneTook(startMs: number): void {
  factor = Math.min(MOST, Math.max(1, startMs / IDLE_START_MS));
}
