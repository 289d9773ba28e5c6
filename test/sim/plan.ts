import {
  type ConflictPolicy,
  type ExplicitAddresses,
  HOST_ADDRESS_POLICIES,
  type HostAddressPolicy,
} from "../../src/api/mac-pool.ts";
import { Random } from "../support/random.ts";
import { CALM, type Weather } from "./network.ts";
import type { Shape } from "./tenancy.ts";

/**
 * What one episode is like. Each episode draws its own mix of load and faults, so that rare combinations occur and no
 * fault hides the others.
 */
export interface Plan {
  readonly seed: readonly number[];
  readonly replicas: number;
  /** Addresses of the pool `default`. */
  readonly poolSize: number;
  /** By name; all but `default` serve the namespaces with the tenants' label, the oldest first. */
  readonly pools: Readonly<Record<string, { readonly shape: Shape; readonly policy: ConflictPolicy }>>;
  /** Namespace that has the tenants' label at first. */
  readonly tenant: "red" | "blue" | "none";
  readonly quarantineSeconds: number;
  /** Every pool says DenyRunning all the time, so that it can be told who must not run. */
  readonly exclusive: boolean;
  /** Every pool says Deny all the time: no two objects share an address but a receiver and what it receives. */
  readonly strict: boolean;
  /** Each namespace is served by one pool all the time, which has one policy. */
  readonly settled: boolean;
  /** Pools that tell networks apart, all the time. */
  readonly perNetwork: readonly string[];
  /** Share of the objects that opt out by a label of their own. */
  readonly optOut: number;
  /** Whether the pools leave those objects alone; otherwise their addresses are claimed. */
  readonly mayOptOut: boolean;
  /** Of every pool all the time, as to addresses that nodes have. */
  readonly hostAddressPolicy: HostAddressPolicy;
  /** Of every pool all the time. */
  readonly explicitAddresses: ExplicitAddresses;
  /** Share of the pods whose annotation is written in short. */
  readonly shorthand: number;
  /** When KubeVirt is installed. */
  readonly kubevirtAtMs: number;
  /** Difference between the replicas' wall clocks. */
  readonly skewMs: number;
  /** Every replica takes itself for the leader. */
  readonly splitBrain: boolean;
  /** Times of trouble, each followed by a calm in which everything has to come to rest. */
  readonly cycles: number;
  readonly chaosMs: number;
  readonly meanOperationMs: number;
  readonly weather: Weather;
  /** All claims are deleted by hand before each time of trouble but the first. */
  readonly wipesClaims: boolean;
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
  | "restoreEtcd"
  | "weather"
  | "changeRange"
  | "changePolicy"
  | "recreatePool"
  | "changeMode"
  | "changeTenant"
  | "removeKubevirt"
  | "changeNode";

const POLICIES = ["Deny", "Deny", "Deny", "Warn", "Warn", "DenyRunning"] as const;

/** Who may ask for little meets little. */
const EXPLICIT_POLICIES = ["Anywhere", "Anywhere", "Anywhere", "OwnPool", "OutsidePools"] as const;

export function planOf(seed: number, episode: number, replicas: number): Plan {
  const words = [seed, episode];
  const random = new Random(...words, 0);
  const later = new Random(...words, 5);
  const latest = new Random(...words, 6);
  const nodes = new Random(...words, 7);
  const byHand = new Random(...words, 8);
  const mayOptOut = later.chance(0.5);
  const some = (probability: number, most: number): number =>
    random.chance(probability) ? random.between(0, most) : 0;
  const poolSize = random.pick([4, 8, 16, 32, 64]);
  const exclusive = (seed + episode) % 3 === 0;
  const policy = (): ConflictPolicy => (exclusive ? "DenyRunning" : random.pick(POLICIES));
  const meanOperationMs = random.pick([40, 150, 400, 1_500]);
  /** Many users do not make more trouble: replicas that die every second do nothing. */
  const trouble = (probability: number, most: number): number =>
    some(probability, most) * Math.min(1, meanOperationMs / 400);
  /** Not while it has to be known which policy holds for everybody. */
  const unless = (most: number): number => (exclusive ? 0 : most);
  const plan: Omit<Plan, "strict" | "settled" | "perNetwork"> = {
    seed: words,
    replicas,
    poolSize,
    pools: {
      default: { shape: { first: 0, size: poolSize, ...holeFor(poolSize, random) }, policy: policy() },
      ...Object.fromEntries(
        TENANT_POOLS.slice(0, random.pick([0, 1, 1, 2])).map((name) => {
          const size = random.pick([1, 3, 6, 12]);
          const shape = { first: random.below(poolSize + 4), size, ...holeFor(size, random) };
          return [name, { shape, policy: policy() }];
        }),
      ),
    },
    tenant: random.pick(["red", "blue", "none"]),
    quarantineSeconds: random.pick([0, 2, 10, 60]),
    exclusive,
    optOut: random.pick([0, 0, 0.15]),
    mayOptOut,
    hostAddressPolicy: nodes.pick(HOST_ADDRESS_POLICIES),
    explicitAddresses: byHand.pick(EXPLICIT_POLICIES),
    shorthand: random.pick([0, 0.3]),
    kubevirtAtMs: random.chance(0.15) ? random.between(0, 60_000) : 0,
    skewMs: later.chance(0.3) ? later.between(-600_000, 600_000) : later.between(-50, 50),
    splitBrain: random.chance(0.3),
    cycles: random.chance(0.2) ? 6 : 2,
    chaosMs: random.between(40_000, 240_000),
    meanOperationMs,
    weather: {
      ...CALM,
      lost: some(0.4, 0.02),
      unanswered: some(0.5, 0.05),
      refused: some(0.5, 0.05),
      slow: some(0.6, 0.2),
      crawling: some(0.4, 0.02),
      cut: some(0.4, 0.01),
    },
    wipesClaims: later.chance(0.25),
    trouble: {
      kill: trouble(0.5, 6),
      pause: trouble(0.5, 6),
      stop: trouble(0.3, 3),
      partition: trouble(0.4, 4),
      cutWatches: trouble(0.4, 3),
      restartApi: trouble(0.3, 2),
      compact: trouble(0.4, 3),
      restoreEtcd: latest.chance(0.25) ? latest.between(0, 4) * Math.min(1, meanOperationMs / 400) : 0,
      weather: trouble(1, 6),
      changeRange: trouble(0.4, 4),
      changePolicy: trouble(unless(0.2), 2),
      recreatePool: trouble(unless(0.2), 1),
      changeMode: trouble(unless(0.3), 2),
      changeTenant: trouble(0.3, 2),
      removeKubevirt: trouble(unless(0.1), 0.3),
      changeNode: nodes.chance(0.3) ? nodes.between(1, 5) : 0,
    },
  };
  const isDeny = Object.values(plan.pools).every(({ policy }) => policy === "Deny");
  const tellsApart = later.chance(0.25);
  const perNetwork = Object.keys(plan.pools).filter(() => tellsApart && later.chance(0.7));
  // It has to be known which networks count as apart for whom.
  const others = perNetwork.length === 0 ? {} : { changeTenant: 0, recreatePool: 0 };
  const { changePolicy, changeTenant, recreatePool } = { ...plan.trouble, ...others };
  const strict = isDeny && changePolicy === 0;
  const settled = changePolicy + changeTenant + recreatePool === 0;
  return { ...plan, perNetwork, trouble: { ...plan.trouble, ...others }, strict, settled };
}

const TENANT_POOLS = ["tenant", "another"] as const;

function holeFor(size: number, random: Random): { hole?: number } {
  return size > 2 && random.chance(0.3) ? { hole: random.below(size) } : {};
}
