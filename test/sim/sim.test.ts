import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { RUNS_ALL, share } from "../support/share.ts";
import { runCampaign, shrink } from "./campaign.ts";
import { runEpisode } from "./episode.ts";
import { MUTATIONS, type Mutation } from "./mutations.ts";

const REPLICAS = 3;
const SLICE_STEPS = share(12_000);
const SLICE_SEED = 58;
const SHRINK_MS = 60_000;
/** Seconds on an idle machine; the bound is for a busy one. */
const TIMEOUT_MS = 120_000;

/**
 * Seeds whose first episodes are short and of the kind in which a guard is needed: one of them has to notice that it is
 * missing. `npm run sim -- --mutation NAME` looks through all others.
 */
const NOTICED_IN: Record<Mutation, readonly number[]> = {
  "create as lock": [0, 3],
  resourceVersion: [3, 4],
  "live read": [12, 59],
  "deadline kept": [0, 1],
  "deadline ends": [0, 1],
  "owner comparison": [0, 2],
  "last admission": [3, 5],
  "arrived later": [0, 4],
  "launchers of started": [11, 12],
  "start noted": [0, 3],
  "running read": [6, 12],
  "plug-in judged": [12, 33],
  "opt-out allowed": [3, 7],
  "strictest policy": [7, 50],
  "listed in caches": [6, 34],
  "pods without a say": [3, 11],
  "receiver judged": [0, 2],
  "receiver remembered": [29, 32],
  "network comparison": [4, 5],
  "move judged": [0, 3],
  "pool selection": [3, 7],
  "node addresses kept": [0, 1],
  "explicit addresses": [4, 10],
  "caches listed anew": [36, 88],
};

/** What is noticed in a history of 225,000 steps; none that is shorter is known. */
const LONG: readonly string[] = ["live read"];

describe("the simulated cluster", { timeout: TIMEOUT_MS }, () => {
  it(`keeps every invariant for ${SLICE_STEPS} steps of seed ${SLICE_SEED}`, async () => {
    const result = await runCampaign({ seed: SLICE_SEED, steps: SLICE_STEPS, replicas: REPLICAS });
    expect(result.failed).toBeUndefined();
    expect(result.allocations).toBeGreaterThan(0);
    expect(result.faults).toBeGreaterThan(0);
  });
});

describe("two processes with the same seed", { timeout: TIMEOUT_MS }, () => {
  it("see the same history, even where requests of every controller fail and are tried again", async () => {
    const [one, other, another] = await Promise.all(["129", "129", "100"].map(simulated));
    expect(one).toMatch(/"digest":\d+/);
    expect(one).toBe(other);
    expect(one).not.toBe(another);
  });
});

const run = promisify(execFile);

async function simulated(seed: string): Promise<string> {
  const entry = new URL("run.ts", import.meta.url).pathname;
  const { stdout } = await run(process.execPath, [entry, "--seed", seed, "--steps", "1", "--digest"]);
  return stdout;
}

describe("a shortened history", { timeout: TIMEOUT_MS }, () => {
  it("ends in the same violation by the operations that it counts", async () => {
    const episode = { seed: 36, episode: 0, replicas: REPLICAS, seams: MUTATIONS["caches listed anew"] };
    const { violation, operations } = await runEpisode(episode);
    const short = await shrink(episode, SHRINK_MS);
    expect(short.violation.invariant).toBe(violation?.invariant);
    expect(short.operations).toBeGreaterThan(0);
    expect(short.operations).toBeLessThan(operations);
    expect(short.history.filter((line) => line.includes(" -- "))).not.toHaveLength(0);
  });
});

/** Of the product as it is; several guards are missed in the same history. */
const soundRuns = new Map<number, ReturnType<typeof runEpisode>>();

function soundRun(seed: number): ReturnType<typeof runEpisode> {
  const run = soundRuns.get(seed) ?? runEpisode({ seed, episode: 0, replicas: REPLICAS });
  soundRuns.set(seed, run);
  return run;
}

describe("the product without one of its guards", { timeout: TIMEOUT_MS }, () => {
  for (const [mutation, seeds] of Object.entries(NOTICED_IN)) {
    it.skipIf(!RUNS_ALL && LONG.includes(mutation))(`is noticed without: ${mutation}`, async () => {
      const seams = MUTATIONS[mutation as Mutation];
      const noticed: number[] = [];
      for (const seed of seeds) {
        const { violation } = await runEpisode({ seed, episode: 0, replicas: REPLICAS, seams });
        if (violation !== undefined) noticed.push(seed);
        if (violation !== undefined) break;
      }
      expect(noticed).toHaveLength(1);
      expect((await soundRun(noticed[0] ?? 0)).violation).toBeUndefined();
    });
  }
});
