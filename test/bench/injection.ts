/** What the injection adds to the creation of a pod on a real API server: the same pods with and without its call. */

import { setTimeout as sleep } from "node:timers/promises";
import {
  NAD_NODE_SELECTOR_ANNOTATION,
  NAD_RESOURCE_NAME_ANNOTATION,
  NETWORKS_ANNOTATION,
  SYSTEM_NAMESPACE,
} from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { InjectorHarness, podAsking } from "../linux-bridge-webhook/injector-harness.ts";
import { inFlight } from "../support/in-flight.ts";
import { cpuMsOf } from "../support/process-usage.ts";
import { type BenchContext, type BenchRow, percentile, row } from "./bench.ts";

/** Pods of each side, in turn, so that all see the same machine. */
const PODS = 1_500;
const SHORT_PODS = 300;
/** Until the processes run compiled code. */
const WARM_UP = 1_000;
/** Of these at once. */
const CONNECTIONS = 4;
/** Pods that ask for 100,000 networks, made by somebody else meanwhile. */
const ATTACKS_PER_SECOND = 5;
const MAX_ATTACKED = 2;

const BRIDGES = ["br1", "br2"];
const ASKING = { [NETWORKS_ANNOTATION]: "bench/br1,bench/br2" };
const NOT_ASKING = { "example.com/annotation": "without networks" };
const ENDLESS = { [NETWORKS_ANNOTATION]: Array.from({ length: 100_000 }, (_, index) => "abcdefgh"[index % 8]).join() };

/** Namespaces: our webhook is called for pods of the first. */
const SIDES = { ours: "default", bare: SYSTEM_NAMESPACE } as const;
type Side = keyof typeof SIDES;
type Samples = Record<Side, number[]>;

export async function measureInjection({ short, log }: BenchContext): Promise<BenchRow[]> {
  await using harness = await InjectorHarness.start();
  await harness.admin.create(RESOURCES.namespaces, { metadata: { name: "bench" } });
  await harness.admin.create(RESOURCES.serviceAccounts, { metadata: { namespace: SIDES.bare, name: "default" } });
  for (const bridge of BRIDGES) {
    const resource = { [NAD_RESOURCE_NAME_ANNOTATION]: `bridge.network.kubevirt.io/${bridge}` };
    await harness.createNad(bridge, { ...resource, [NAD_NODE_SELECTOR_ANNOTATION]: "example.com/rack=a" }, "bench");
  }
  await harness.registerWebhook();
  const create = async (side: Side, asked: Readonly<Record<string, string>>): Promise<number> => {
    const pod = podAsking(asked);
    const startMs = performance.now();
    const created = { ...pod, metadata: { ...pod.metadata, namespace: SIDES[side] } };
    await harness.admin.create(RESOURCES.pods, created, { dryRun: true });
    return performance.now() - startMs;
  };
  const count = short ? SHORT_PODS : PODS;
  const compare = async (asked: Readonly<Record<string, string>>): Promise<Samples> => {
    const samples: Samples = { ours: [], bare: [] };
    for (let i = 0; i < count; i++) {
      for (const side of ["bare", "ours"] as const) samples[side].push(await create(side, asked));
    }
    return samples;
  };
  log("warming up");
  for (const side of ["bare", "ours"] as const) await inFlight(CONNECTIONS, WARM_UP, () => create(side, ASKING));
  log("pods with networks");
  const beforeMs = cpuMsOf(harness.process.pid);
  const asking = await compare(ASKING);
  const processorMs = (cpuMsOf(harness.process.pid) - beforeMs) / count;
  log("pods without networks");
  const notAsking = await compare(NOT_ASKING);
  log("pods with networks, while others ask for 100,000");
  // Refused, because these networks do not exist.
  const attack = (): Promise<unknown> => create("ours", ENDLESS).catch(() => undefined);
  const attacked = await during(attack, () => compare(ASKING));
  const p50 = (samples: Samples, side: Side): number => percentile(samples[side], 0.5);
  const what = "injection: creation of a pod";
  const others = `injection: pods of others, p50, while ${ATTACKS_PER_SECOND} a second ask for 100,000 networks`;
  return [
    row(`${what} with two networks, p50; peer: not called`, "ms", p50(asking, "ours"), p50(asking, "bare"), null),
    row(`${what} without networks, p50; peer: not called`, "ms", p50(notAsking, "ours"), p50(notAsking, "bare"), 1.1),
    row("injection: processor time of the webhook for a pod", "ms", processorMs, null, null),
    row(`${others}; peer: without them`, "ms", p50(attacked, "ours"), p50(asking, "ours"), MAX_ATTACKED),
  ];
}

/** Does `attack` at a steady rate until `work` is done. */
async function during<T>(attack: () => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  const done = new AbortController();
  const attacks: Promise<unknown>[] = [];
  const attacking = (async () => {
    while (!done.signal.aborted) {
      attacks.push(attack());
      await sleep(1000 / ATTACKS_PER_SECOND);
    }
    await Promise.all(attacks);
  })();
  const result = await work().finally(() => done.abort());
  await attacking;
  return result;
}
