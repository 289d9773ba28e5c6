import { describe, expect, it } from "vitest";
import { runCampaign } from "./campaign.ts";
import { runEpisode } from "./episode.ts";
import { MUTATIONS, type Mutation } from "./mutations.ts";

const REPLICAS = 3;
const SLICE_STEPS = 20_000;
const SLICE_SEED = 2026;
/** Seconds on an idle machine; the bound is for a busy one. */
const TIMEOUT_MS = 120_000;

/** Episodes that were found to notice each mutation soon; `npm run sim -- --mutation NAME` looks for others. */
const NOTICED_IN: Record<Mutation, { readonly seed: number; readonly episode: number }> = {
  "create as lock": { seed: 1, episode: 0 },
  resourceVersion: { seed: 6, episode: 0 },
  "live read": { seed: 11, episode: 0 },
  "deadline kept": { seed: 1, episode: 0 },
  "deadline ends": { seed: 1, episode: 0 },
  "owner comparison": { seed: 1, episode: 0 },
};

describe("the simulated cluster", { timeout: TIMEOUT_MS }, () => {
  it(`keeps every invariant for ${SLICE_STEPS} steps of seed ${SLICE_SEED}`, async () => {
    const result = await runCampaign({ seed: SLICE_SEED, steps: SLICE_STEPS, replicas: REPLICAS });
    expect(result.failed).toBeUndefined();
    expect(result.allocations).toBeGreaterThan(0);
    expect(result.faults).toBeGreaterThan(0);
  });

  it("does the same again with the same seed, and something else with another", async () => {
    const run = async (seed: number) => (await runEpisode({ seed, episode: 0, replicas: REPLICAS })).digest;
    expect(await run(7)).toBe(await run(7));
    expect(await run(7)).not.toBe(await run(8));
  });
});

describe("the product without one of its guards", { timeout: TIMEOUT_MS }, () => {
  for (const [mutation, { seed, episode }] of Object.entries(NOTICED_IN)) {
    it(`is noticed without: ${mutation}`, async () => {
      const seams = MUTATIONS[mutation as Mutation];
      const sound = await runEpisode({ seed, episode, replicas: REPLICAS });
      expect(sound.violation).toBeUndefined();
      const { violation } = await runEpisode({ seed, episode, replicas: REPLICAS, seams });
      expect(violation).toBeDefined();
    });
  }
});
