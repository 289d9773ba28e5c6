import type { ConflictPolicy } from "../../src/api/mac-pool.ts";
import { CALM, type Weather } from "./network.ts";
import { Random } from "./random.ts";

/**
 * What one episode is like. Each draws its own mix of load and faults, so that rare combinations come together and no
 * fault drowns all others.
 */
export interface Plan {
  readonly seed: readonly number[];
  readonly replicas: number;
  readonly poolSize: number;
  readonly conflictPolicy: ConflictPolicy;
  readonly quarantineSeconds: number;
  /** Difference between the replicas' wall clocks. */
  readonly skewMs: number;
  /** Every replica takes itself for the leader. */
  readonly splitBrain: boolean;
  /** Times of trouble, each followed by a calm in which everything has to come to rest. */
  readonly cycles: number;
  readonly chaosMs: number;
  readonly meanOperationMs: number;
  readonly weather: Weather;
  /** How often each kind of trouble is among the operations, as a weight beside the users' hundred. */
  readonly trouble: Readonly<Record<Trouble, number>>;
}

export type Trouble =
  | "kill"
  | "pause"
  | "stop"
  | "partition"
  | "cutWatches"
  | "restartApi"
  | "compact"
  | "weather"
  | "changeRange"
  | "changePolicy"
  | "recreatePool";

export function planOf(seed: number, episode: number, replicas: number): Plan {
  const words = [seed, episode];
  const random = new Random(...words, 0);
  const some = (probability: number, most: number): number =>
    random.chance(probability) ? random.between(0, most) : 0;
  return {
    seed: words,
    replicas,
    poolSize: random.pick([4, 8, 16, 32]),
    conflictPolicy: random.pick(["Deny", "Deny", "Warn"]),
    quarantineSeconds: random.pick([0, 2, 10, 60]),
    skewMs: random.chance(0.3) ? random.between(-60_000, 60_000) : random.between(-50, 50),
    splitBrain: random.chance(0.3),
    cycles: random.chance(0.2) ? 6 : 2,
    chaosMs: random.between(40_000, 240_000),
    meanOperationMs: random.pick([40, 150, 400, 1_500]),
    weather: {
      ...CALM,
      lost: some(0.4, 0.02),
      unanswered: some(0.5, 0.05),
      refused: some(0.5, 0.05),
      slow: some(0.6, 0.2),
      crawling: some(0.4, 0.02),
      cut: some(0.4, 0.01),
    },
    trouble: {
      kill: some(0.5, 6),
      pause: some(0.5, 6),
      stop: some(0.3, 3),
      partition: some(0.4, 4),
      cutWatches: some(0.4, 3),
      restartApi: some(0.3, 2),
      compact: some(0.4, 3),
      weather: 4,
      changeRange: some(0.4, 4),
      changePolicy: some(0.2, 2),
      recreatePool: some(0.15, 1),
    },
  };
}
