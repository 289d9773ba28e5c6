import type { Violation } from "./audit.ts";
import { type EpisodeOptions, runEpisode } from "./episode.ts";
import type { Seams } from "./sim-replica.ts";

export interface CampaignOptions {
  readonly seed: number;
  readonly steps: number;
  readonly replicas: number;
  readonly seams?: Seams;
  /** Told after each episode how many steps were taken. */
  readonly onProgress?: (steps: number) => void;
}

export interface CampaignResult {
  readonly seed: number;
  readonly steps: number;
  readonly allocations: number;
  readonly faults: number;
  /** Equal for equal histories. */
  readonly digest: number;
  /** The episode that ended in a violation. */
  readonly failed: { readonly episode: number; readonly violation: Violation } | undefined;
}

/** Runs episodes, each with a plan of its own, until enough steps were taken or an invariant is violated. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { seed, replicas, seams = {} } = options;
  let [steps, allocations, faults, digest] = [0, 0, 0, 0];
  for (let episode = 0; ; episode++) {
    const result = await runEpisode({ seed, episode, replicas, seams });
    steps += result.steps;
    allocations += result.allocations;
    faults += result.faults;
    digest = (Math.imul(digest, 31) + result.digest) >>> 0;
    const { violation } = result;
    const failed = violation === undefined ? undefined : { episode, violation };
    if (failed !== undefined || steps >= options.steps) return { seed, steps, allocations, faults, digest, failed };
    options.onProgress?.(steps);
  }
}

/**
 * The same episode with as few operations as still end in a violation of the same kind, and what happens in it. Leaves
 * out halves, then quarters, and so on, for `forMs` at most.
 */
export async function shrink(
  options: EpisodeOptions,
  forMs: number,
): Promise<{ readonly operations: number; readonly violation: Violation; readonly history: readonly string[] }> {
  const first = await runEpisode(options);
  const kind = first.violation?.invariant;
  if (kind === undefined) throw new Error(`episode ${options.episode} of seed ${options.seed} violates nothing`);
  let kept = Array.from({ length: first.operations }, (_, number) => number);
  let size = Math.ceil(kept.length / 2);
  const endMs = performance.now() + forMs;
  while (size >= 1 && performance.now() < endMs) {
    let isShorter = false;
    for (let at = 0; at < kept.length && performance.now() < endMs; at += size) {
      const fewer = [...kept.slice(0, at), ...kept.slice(at + size)];
      const { violation } = await runEpisode({ ...options, only: new Set(fewer) });
      if (violation?.invariant !== kind) continue;
      kept = fewer;
      at -= size;
      isShorter = true;
    }
    if (!isShorter || size > kept.length) size = size === 1 ? 0 : Math.ceil(size / 2);
  }
  const history: string[] = [];
  const last = await runEpisode({ ...options, only: new Set(kept), history });
  if (last.violation === undefined)
    throw new Error("a violation was there and is not any more: the run is not repeatable");
  return { operations: kept.length, violation: last.violation, history };
}
