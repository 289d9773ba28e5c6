/**
 * `npm run soak:mac-pool -- [--minutes N] [--operations N] [--seed N]`: two replicas of the MAC pool on a real API
 * server, VMs and pods that come, change and go as fast as it takes them, in namespaces with pools of different policies,
 * VMs that wait to receive a migration, namespaces that opt in or are deleted; replicas killed and stopped at random, the
 * API server restarted twice. The load ends after so many operations or minutes, whichever comes first.
 *
 * What counts is computed by an auditor from the API server's watches and never from the pool: objects that had one
 * address at the same time, and addresses that stay claimed after their last holder is gone. The last line of stdout is
 * JSON. Exits 0 when both are 0 and every refusal had a reason, 1 when not, 2 for a wrong argument.
 */

import { readFlags } from "../../../cni-plugins/build/flags.ts";
import { WAIT_AS_RECEIVER } from "../../../src/api/mac-pool-scope.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK } from "../../../src/api/names.ts";
import { type KubeObject, RESOURCES } from "../../../src/kube/client/resource.ts";
import { PENDING_MS } from "../../../src/mac-pool/claims/limits.ts";
import { KINDS } from "../../../src/mac-pool/objects/kinds.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane/control-plane.ts";
import { Random } from "../../support/random.ts";
import { macsOf } from "../machines.ts";
import { PoolFixture } from "../pool-fixture.ts";
import { Auditor, type Reading } from "./auditor.ts";
import { Outcomes } from "./outcomes.ts";
import { Tenants } from "./tenants.ts";
import { Workload } from "./workload.ts";

interface FaultOptions {
  readonly fixture: PoolFixture;
  readonly controlPlane: ControlPlane;
  readonly replicas: readonly string[];
  /** Uniform in [0, 1). */
  readonly random: () => number;
  /** Shares of the whole after which the API server is restarted. */
  readonly restartsAt: readonly number[];
  /** The share that is done. */
  readonly progress: () => number;
  readonly log: (line: string) => void;
}

const BETWEEN_MS = 3_000;
const SPREAD_MS = 4_000;
const MAX_STOPPED_MS = 20_000;

/** Kills and stops replicas at random, and restarts the API server at the given times; counts the kills. */
class Faults {
  kills = 0;
  stops = 0;
  restarts = 0;
  readonly #options: FaultOptions;

  constructor(options: FaultOptions) {
    this.#options = options;
  }

  /** Until the signal aborts; every replica runs again then. */
  async run(signal: AbortSignal): Promise<void> {
    const { fixture, controlPlane, replicas, random, restartsAt, progress, log } = this.#options;
    const due = [...restartsAt];
    while (!signal.aborted) {
      await pause(BETWEEN_MS + random() * SPREAD_MS, signal);
      if (signal.aborted) return;
      if (due[0] !== undefined && progress() > due[0]) {
        due.shift();
        this.restarts++;
        log("restarting the API server");
        await controlPlane.restartApiServer();
        continue;
      }
      const name = replicas[Math.floor(random() * replicas.length)] ?? "";
      if (random() < 0.6) {
        this.kills++;
        log(`killing ${name}`);
        await fixture.killReplica(name);
        await fixture.startReplica(name);
      } else {
        this.stops++;
        log(`stopping ${name}`);
        fixture.pauseReplica(name);
        await pause(random() * MAX_STOPPED_MS, signal);
        fixture.resumeReplica(name);
      }
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** A call that meets a stopped replica waits for the webhook's time-out; the others go on meanwhile. */
const WORKERS = 24;
const TENANTS = 3;
const PODS = "soak-pods";
/** VMs there are warned when they share an address with each other. */
const WARNED = "soak-warned";
const DEFAULT_MINUTES = 20;
const DEFAULT_OPERATIONS = 10_000;
/** Shares of the load after which the API server is restarted. */
const RESTARTS_AT = [1 / 3, 2 / 3];
const PROGRESS_MS = 30_000;
const QUARANTINE_SECONDS = 2;
/** After the last call: the deadline of what never came to be, the rest, and a look of the leader on top. */
const SETTLE_MS = PENDING_MS + QUARANTINE_SECONDS * 1000 + 60_000;
const SETTLE_POLL_MS = 1_000;
/** After that time without a step of any claim, what is left is left for good. */
const STALL_MS = 60_000;
const REPLICAS = ["one", "two"];

async function main(): Promise<number> {
  const options = readArguments();
  if (options === undefined) return 2;
  const { minutes, operations, seed } = options;
  const log = (line: string): void => console.error(line);
  log(`seed ${seed}, ${operations} operations, ${minutes} minutes at most`);
  const controlPlane = await startControlPlane({ controllerManager: true });
  await using fixture = await PoolFixture.start({ controlPlane });
  await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: PODS, labels: { [POD_WEBHOOK]: "allocate" } } });
  await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: WARNED, labels: { pool: WARNED } } });
  for (const name of REPLICAS) await fixture.startReplica(name);
  const ranges = [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:3f:ff" }];
  await fixture.createPool("default", { ranges, quarantineSeconds: QUARANTINE_SECONDS });
  await fixture.createPool("warned", {
    ranges: [{ start: "02:5d:1d:00:00:00", end: "02:5d:1d:00:3f:ff" }],
    quarantineSeconds: QUARANTINE_SECONDS,
    namespaceSelector: { matchLabels: { pool: WARNED } },
    conflictPolicy: "Warn",
  });
  await fixture.registerWebhooks();

  const auditing = new AbortController();
  const auditor = new Auditor(fixture.admin);
  const following = [
    auditor.follow(KINDS.virtualMachines, readMachine, auditing.signal),
    auditor.follow(KINDS.pods, readPod, auditing.signal),
  ];
  const loading = new AbortController();
  const outcomes = new Outcomes();
  const shared = { client: fixture.admin, outcomes };
  const workloads = Array.from({ length: WORKERS }, (_, index) => {
    const names = { machineNamespaces: ["default", "default", "default", WARNED], podNamespace: PODS };
    return new Workload(`w${index}`, { ...shared, random: new Random(seed, index + 1).next, ...names });
  });
  const tenants = Array.from({ length: TENANTS }, (_, number) => {
    const random = new Random(seed, WORKERS + number + 1).next;
    return new Tenants({ ...shared, random, number, sourceNamespace: "default" });
  });
  const startMs = performance.now();
  const progress = (): number => {
    const byTime = (performance.now() - startMs) / (minutes * 60_000);
    const share = Math.max(outcomes.operations / operations, byTime);
    if (share >= 1) loading.abort();
    return share;
  };
  const ticking = setInterval(progress, 100);
  const telling = setInterval(() => log(`${outcomes.operations} operations`), PROGRESS_MS);
  const random = new Random(seed).next;
  const faults = new Faults({
    fixture,
    controlPlane,
    replicas: REPLICAS,
    random,
    restartsAt: RESTARTS_AT,
    progress,
    log,
  });
  await Promise.all([
    faults.run(loading.signal),
    ...[...workloads, ...tenants].map((each) => each.run(loading.signal)),
  ]);
  for (const timer of [ticking, telling]) clearInterval(timer);
  log("waiting for what is left to settle");
  const leaked = await settle(fixture, auditor);
  auditing.abort();
  await Promise.all(following);

  const duplicates = auditor.duplicates();
  const { unexplained } = outcomes;
  for (const line of [...duplicates, ...leaked, ...unexplained]) log(line);
  const result = {
    seed,
    operations: outcomes.operations,
    allocations: outcomes.allocations,
    duplicates: duplicates.length,
    leaks: leaked.length,
    denials: outcomes.denials,
    failedCalls: outcomes.failedCalls,
    kills: faults.kills,
    stops: faults.stops,
    restarts: faults.restarts,
  };
  console.log(JSON.stringify(result));
  return duplicates.length + leaked.length + unexplained.length === 0 ? 0 : 1;
}

/** Waits until the claims are those of the objects that live, both ways; what still differs at the end is the answer. */
async function settle(fixture: PoolFixture, auditor: Auditor): Promise<string[]> {
  let endMs = performance.now() + SETTLE_MS;
  let least = Number.POSITIVE_INFINITY;
  for (;;) {
    const claimed = new Map(
      (await fixture.claims()).map(({ spec, status }) => [spec.mac, status?.phase ?? "no phase"]),
    );
    const present = auditor.present();
    const orphans = [...claimed].filter(([mac]) => !present.has(mac));
    const left = [
      ...orphans.map(([mac, phase]) => `${mac} is claimed (${phase}) for nobody`),
      ...[...present].filter((mac) => !claimed.has(mac)).map((mac) => `${mac} is held without a claim`),
    ];
    if (left.length === 0 || performance.now() > endMs) return left;
    // What still gets less is slow, as a busy machine is, and no leak. A claim goes in two steps, and all may take the first one first.
    const quarantined = orphans.filter(([, phase]) => phase === "Quarantined").length;
    const steps = 2 * left.length - quarantined;
    if (steps < least) endMs = Math.max(endMs, performance.now() + STALL_MS);
    least = Math.min(least, steps);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_POLL_MS));
  }
}

function readMachine(vm: KubeObject): Reading {
  const waits = (vm.spec as { readonly runStrategy?: string }).runStrategy === WAIT_AS_RECEIVER;
  const sharing = waits ? "any" : vm.metadata.namespace === WARNED ? "like" : "none";
  return { macs: macsOf(vm).filter((mac) => mac !== undefined), sharing };
}

function readPod(pod: KubeObject): Reading {
  const text = pod.metadata.annotations?.[NETWORKS_ANNOTATION];
  const networks: { mac?: string }[] = text === undefined ? [] : JSON.parse(text);
  return { macs: networks.flatMap(({ mac }) => (mac === undefined ? [] : [mac])), sharing: "none" };
}

interface Arguments {
  readonly minutes: number;
  readonly operations: number;
  readonly seed: number;
}

function readArguments(): Arguments | undefined {
  const usage = "usage: npm run soak:mac-pool -- [--minutes N] [--operations N] [--seed N]";
  const text = { type: "string" } as const;
  try {
    const values = readFlags({ minutes: text, operations: text, seed: text });
    const minutes = Number(values.minutes ?? DEFAULT_MINUTES);
    const operations = Number(values.operations ?? DEFAULT_OPERATIONS);
    const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
    if (minutes > 0 && operations > 0 && Number.isInteger(seed)) return { minutes, operations, seed };
    console.error(`--minutes and --operations have to be above 0 and --seed a whole number\n${usage}`);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
  return undefined;
}

process.exitCode = await main();
