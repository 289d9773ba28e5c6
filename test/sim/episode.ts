import { PENDING_MS } from "../../src/mac-pool/claims/limits.ts";
import { Random } from "../support/random.ts";
import { Violation } from "./audit.ts";
import { CALM } from "./network.ts";
import { operate } from "./operations.ts";
import { type Plan, planOf } from "./plan.ts";
import { unrest } from "./rest.ts";
import type { Seams } from "./sim-replica.ts";
import { World } from "./world.ts";

export interface EpisodeOptions {
  readonly seed: number;
  readonly episode: number;
  readonly replicas: number;
  readonly seams?: Seams;
  /** The operations, by number, that are not left out: how a history is made shorter. */
  readonly only?: ReadonlySet<number>;
  /** Filled with what happened, line by line. */
  readonly history?: string[];
}

export interface EpisodeResult {
  readonly steps: number;
  readonly digest: number;
  readonly operations: number;
  readonly allocations: number;
  readonly faults: number;
  readonly refusals: ReadonlyMap<string, number>;
  readonly violation: Violation | undefined;
}

/** By then everything has ended: requests, the new leader's deadline, quarantine, the longest wait before a retry. */
const SETTLE_MS = 60_000 + PENDING_MS + 120_000;
const LOOK_MS = 2_000;
/** A time of trouble ends after so many steps: many short histories find more than one that goes round in circles. */
const MAX_TROUBLE_STEPS = 30_000;

/** One cluster from its beginning through times of trouble, each of which has to come to rest in bounded time. */
export async function runEpisode(options: EpisodeOptions): Promise<EpisodeResult> {
  const plan = planOf(options.seed, options.episode, options.replicas);
  const world = new World(plan, options.seams ?? {}, options.history);
  const { scheduler } = world;
  const counter = { operations: 0 };
  let violation: Violation | undefined;
  try {
    for (let cycle = 0; cycle < plan.cycles; cycle++) {
      await trouble(world, plan, counter, options.only);
      await rest(world, plan);
    }
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error;
    world.note(`VIOLATION ${error.message}`);
  }
  for (const [slot] of world.replicas.entries()) world.killReplica(slot);
  const { allocations, faults, refusals } = world;
  return {
    steps: scheduler.steps,
    digest: scheduler.digest >>> 0,
    operations: counter.operations,
    allocations,
    faults,
    refusals,
    violation,
  };
}

async function trouble(
  world: World,
  plan: Plan,
  counter: { operations: number },
  only?: ReadonlySet<number>,
): Promise<void> {
  const { scheduler } = world;
  const endMs = scheduler.nowMs + plan.chaosMs;
  const endSteps = scheduler.steps + MAX_TROUBLE_STEPS;
  const isOver = (): boolean => (scheduler.nowMs >= endMs || scheduler.steps >= endSteps) && !world.isRestoring;
  const again = (): void => {
    const number = counter.operations++;
    const random = new Random(...plan.seed, 4, number);
    const waitMs = -Math.log(1 - random.next()) * plan.meanOperationMs;
    scheduler.after(waitMs, () => {
      if (isOver()) return;
      if (only?.has(number) !== false) operate(world, random);
      again();
    });
  };
  world.chaos = true;
  if (counter.operations > 0 && plan.wipesClaims) world.wipeClaims();
  again();
  await scheduler.run(isOver);
}

/** All faults are over; looks now and then whether everything is at rest. */
async function rest(world: World, plan: Plan): Promise<void> {
  const { scheduler } = world;
  world.calm();
  const startMs = scheduler.nowMs;
  const endMs = startMs + SETTLE_MS + plan.quarantineSeconds * 1000;
  let lookMs = startMs;
  let found: string | undefined = "not looked yet";
  await scheduler.run(() => {
    if (scheduler.nowMs < lookMs) return false;
    lookMs = scheduler.nowMs + LOOK_MS;
    world.virt.collect();
    found = unrest(world);
    return found === undefined || scheduler.nowMs >= endMs;
  });

  if (found !== undefined)
    throw new Violation("rest", `after ${Math.round((scheduler.nowMs - startMs) / 1000)} s ${found}`);
  world.network.weather = CALM;
}
