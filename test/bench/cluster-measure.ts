/** What a cluster of one size costs: figures in the order in which they come about. */

import { setTimeout as sleep } from "node:timers/promises";
import { DEFAULT_NAMESPACE, LAUNCHER_SELECTOR, OPERATOR_NAME } from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { MANAGER_ACCOUNT } from "../../src/operator/components/kube-mac-pool-access.ts";
import { type BenchContext, type BenchRow, percentile } from "./bench.ts";
import { ClusterHarness, inParallel } from "./cluster-harness.ts";
import * as objects from "./cluster-objects.ts";
import { type PodProcess, type Sample, since, sum } from "./cluster-processes.ts";
import { busiest, of, type Request, summary } from "./cluster-requests.ts";

/** What the product used and asked for within some time. */

interface Parts<T> {
  readonly operator: T;
  /** The MAC pool's replica that leads. */
  readonly leader: T;
  readonly other: T;
}

interface Used extends Parts<Sample> {
  readonly seconds: number;
  readonly requests: readonly Request[];
}

/** Of the processes that are there at its begin, while `work` goes on. */
async function whileDoing(harness: ClusterHarness, work: () => Promise<unknown>): Promise<Used> {
  const [leader, other] = await harness.replicas();
  const processes: Parts<PodProcess> = { operator: harness.operator(), leader, other };
  const samples = async (): Promise<Parts<Sample>> => ({
    operator: await processes.operator.sample(),
    leader: await processes.leader.sample(),
    other: await processes.other.sample(),
  });
  await harness.requests.next();
  const startMs = performance.now();
  const before = await samples();
  await work();
  const after = await samples();
  return {
    operator: since(before.operator, after.operator),
    leader: since(before.leader, after.leader),
    other: since(before.other, after.other),
    seconds: (performance.now() - startMs) / 1000,
    requests: await harness.requests.next(),
  };
}

export interface Figure {
  readonly what: string;
  readonly unit: BenchRow["unit"];
  readonly value: number;
  readonly limit?: number;
  /** As of a row. */
  readonly mayBeNone?: true;
}

/** Of each node. */
export interface Load {
  readonly pods: number;
  /** Running: with an instance and a launcher pod each. */
  readonly vms: number;
}

const TENANTS = 10;
const HEARTBEATS = 2;
const ADMISSIONS = 100;
const REST_MS = 30_000;
const SHORT_REST_MS = 10_000;
/** A status write a second while a rollout proceeds, some at once for what is asked; those of slow reconciles come closer. */
const BUSY_MS = 10_000;
const MOST_WRITES = 15;
/** The specification's deadline. */
const REMOVAL_MS = 300_000;

const STATUS_WRITE = "patch networkaddonsconfigs/status";
const tenant = (index: number): string => `tenant-${index % TENANTS}`;

export async function measureScale(nodes: number, load: Load, context: BenchContext): Promise<Figure[]> {
  await using harness = await ClusterHarness.start(nodes, context);
  const { log } = context;
  const say = (what: string, used: Used): void => {
    const pool = summary(of(used.requests, MANAGER_ACCOUNT));
    log(`  ${what}, ${used.seconds.toFixed(0)} s: operator ${summary(of(used.requests, OPERATOR_NAME))}`);
    log(`    MAC pool ${pool}; all accounts of ours ${used.requests.length} requests`);
  };
  const rest = (): Promise<Used> => whileDoing(harness, () => sleep(context.short ? SHORT_REST_MS : REST_MS));

  const figures: Figure[] = [];
  const found = (...more: readonly Figure[]): void => {
    figures.push(...more);
    for (const { what, unit, value } of more) log(`    ${what}: ${value.toFixed(2)} ${unit}`);
  };
  const plainPods = nodes * load.pods;
  const vms = nodes * load.vms;

  log(`${nodes} nodes: configuring`);
  found(...(await configured(harness, nodes, log)));
  const idle = await rest();
  say("at rest, no VMs", idle);
  found(...atRest("no VMs", idle));

  for (let index = 0; index < TENANTS; index++) {
    await harness.admin.create(RESOURCES.namespaces, { metadata: { name: tenant(index) } });
  }
  log(`${nodes} nodes: creating ${plainPods} pods`);
  const pods = await whileDoing(harness, () => createPods(harness, nodes, plainPods));
  say("pods", pods);
  found(
    figure("each pod: CPU time of a replica of the MAC pool", "ms", pods.other.cpuMs / plainPods),
    figure("each pod: received by a replica", "kB", (pods.other.receivedMb * 1000) / plainPods),
    figure("a replica after the pods: resident", "MB", pods.other.residentMb),
  );
  log(`${nodes} nodes: creating ${vms} running VMs`);
  const machines = await whileDoing(harness, () => createMachines(harness, nodes, vms));
  say("VMs", machines);
  found(
    figure(
      "each running VM: requests of the MAC pool",
      "requests",
      of(machines.requests, MANAGER_ACCOUNT).length / vms,
    ),
    figure("each running VM: CPU time of the leader", "ms", machines.leader.cpuMs / vms),
    figure("each running VM: CPU time of the other replica", "ms", machines.other.cpuMs / vms),
    figure("each running VM: received by a replica", "kB", (machines.other.receivedMb * 1000) / vms),
  );
  found(...(await admissions(harness, vms)));

  const full = await rest();
  say("at rest, all VMs", full);
  found(...atRest("all VMs", full));
  log(`${nodes} nodes: each writes ${HEARTBEATS} heartbeats`);
  const beats = await whileDoing(harness, () => heartbeats(harness, nodes));
  say("heartbeats", beats);
  const thousands = (nodes * HEARTBEATS) / 1000;
  found(
    figure("1,000 node heartbeats: CPU time of the operator", "ms", beats.operator.cpuMs / thousands),
    figure("1,000 node heartbeats: received by the operator", "MB", beats.operator.receivedMb / thousands),
    figure("all heartbeats: status writes of the operator", "requests", statusWrites(beats).length, 0),
  );
  const deletions = await whileDoing(harness, () => deleteMachines(harness, vms));
  say("deletions", deletions);
  found(
    figure("each deleted VM: CPU time of the leader", "ms", deletions.leader.cpuMs / ADMISSIONS),
    figure("each deleted VM: received by the leader", "kB", (deletions.leader.receivedMb * 1000) / ADMISSIONS),
  );
  found(...(await replaced(harness, log)));
  const startMs = performance.now();
  await harness.remove();
  found(figure("removal of everything", "ms", performance.now() - startMs, REMOVAL_MS));
  return figures;
}

const figure = (what: string, unit: Figure["unit"], value: number, limit?: number): Figure =>
  limit === undefined ? { what, unit, value } : { what, unit, value, limit };

const idle = (figure: Figure): Figure => ({ ...figure, mayBeNone: true });

const statusWrites = ({ requests }: Pick<Used, "requests">) =>
  of(requests, OPERATOR_NAME).filter(({ what }) => what === STATUS_WRITE);

async function configured(harness: ClusterHarness, nodes: number, log: BenchContext["log"]): Promise<Figure[]> {
  const operator = harness.operator();
  const before = await operator.sample();
  await harness.requests.next();
  const startMs = performance.now();
  await harness.configure();
  let everywhereMs = 0;
  const everywhere = harness.untilOnEveryNode(nodes).then(() => {
    everywhereMs = performance.now();
  });
  await Promise.all([everywhere, harness.untilAvailable()]);
  const availableMs = performance.now();
  const after = await operator.sample();
  const requests = await harness.requests.next();
  log(`  operator: ${summary(of(requests, OPERATOR_NAME))}`);
  return [
    figure("NetworkAddonsConfig created to Available", "ms", availableMs - startMs),
    idle(figure("of that: after the last DaemonSet pod was available", "ms", availableMs - everywhereMs)),
    figure("until Available: CPU time of the operator", "ms", after.cpuMs - before.cpuMs),
    figure("until Available: requests of the operator", "requests", of(requests, OPERATOR_NAME).length),
    figure("until Available: received by the operator", "MB", after.receivedMb - before.receivedMb),
    figure("until Available: its status writes", "requests", statusWrites({ requests }).length),
    figure(
      "until Available: its status writes in the busiest 10 s",
      "requests",
      busiest(statusWrites({ requests }), BUSY_MS),
      MOST_WRITES,
    ),
    figure("operator, largest size so far: resident", "MB", after.peakMb),
  ];
}

function atRest(when: string, used: Used): Figure[] {
  const parts = { operator: used.operator, "leading replica": used.leader, "other replica": used.other };
  const perMinute = 60 / used.seconds;
  return [
    ...Object.entries(parts).flatMap(([name, sample]) => [
      figure(`at rest, ${when}: ${name}, resident`, "MB", sample.residentMb),
      idle(figure(`at rest, ${when}: ${name}, CPU time a minute`, "ms", sample.cpuMs * perMinute)),
      idle(figure(`at rest, ${when}: ${name}, received a minute`, "MB", sample.receivedMb * perMinute)),
    ]),
    figure(
      `at rest, ${when}: requests a minute, operator`,
      "requests",
      of(used.requests, OPERATOR_NAME).length * perMinute,
    ),
    figure(
      `at rest, ${when}: requests a minute, MAC pool`,
      "requests",
      of(used.requests, MANAGER_ACCOUNT).length * perMinute,
    ),
  ];
}

async function createPods(harness: ClusterHarness, nodes: number, pods: number): Promise<void> {
  await inParallel(pods, (index) => {
    const pod = objects.plainPod(`pod-${index}`, tenant(index), objects.nodeName(index % nodes));
    return harness.admin.create(RESOURCES.pods, pod as never);
  });
  await harness.untilPodsRun(objects.PLAIN_PODS);
}

async function createMachines(harness: ClusterHarness, nodes: number, vms: number): Promise<void> {
  await inParallel(vms, async (index) => {
    const node = objects.nodeName(index % nodes);
    const vm = await harness.admin.create(KINDS.virtualMachines, objects.virtualMachine(`vm-${index}`, tenant(index)));
    const instance = await harness.admin.create(KINDS.instances, objects.instanceOf(vm));
    const { name = "", namespace } = instance.metadata;
    const patch = { type: "merge", body: { status: objects.runningStatus(vm, node) } } as const;
    await harness.admin.patch(KINDS.instances, { name, namespace }, patch, { subresource: "status" });
    await harness.admin.create(RESOURCES.pods, objects.launcherOf(instance, node) as never);
  });
  await harness.untilPodsRun(LAUNCHER_SELECTOR);
  await harness.untilBound(vms);
}

/** VMs with one interface, one after the other. */
async function admissions(harness: ClusterHarness, vms: number): Promise<Figure[]> {
  const took: number[] = [];
  for (let index = 0; index < ADMISSIONS; index++) {
    const vm = objects.virtualMachine(`one-by-one-${index}`, tenant(index));
    const startMs = performance.now();
    await harness.admin.create(KINDS.virtualMachines, vm);
    took.push(performance.now() - startMs);
  }
  await harness.untilBound(vms + ADMISSIONS);
  return [
    figure("creation of a VM, its address included, p50", "ms", percentile(took, 0.5)),
    figure("creation of a VM, its address included, p99", "ms", percentile(took, 0.99)),
  ];
}

/** The VMs that were created one after the other; their namespaces have the launchers of all others. */
async function deleteMachines(harness: ClusterHarness, vms: number): Promise<void> {
  for (let index = 0; index < ADMISSIONS; index++) {
    await harness.admin.delete(KINDS.virtualMachines, { name: `one-by-one-${index}`, namespace: tenant(index) });
  }
  await harness.untilBound(vms);
}

async function heartbeats(harness: ClusterHarness, nodes: number): Promise<void> {
  await inParallel(nodes * HEARTBEATS, (index) => {
    const name = objects.nodeName(index % nodes);
    const patch = { type: "strategic", body: objects.heartbeat() } as const;
    return harness.admin.patch(RESOURCES.nodes, { name }, patch, { subresource: "status" });
  });
}

async function replaced(harness: ClusterHarness, log: BenchContext["log"]): Promise<Figure[]> {
  const [, other] = await harness.replicas();
  const next = await harness.replace(other);
  const metrics = await next.metrics();
  const { residentMb, receivedMb } = await next.sample();
  log(`  a new replica in ${DEFAULT_NAMESPACE} holds ${sum(metrics, "informer_objects")} objects`);
  return [
    figure("a new replica: until its caches are filled", "ms", sum(metrics, "kubevirt_macpool_sync_seconds") * 1000),
    figure("a new replica: received", "MB", receivedMb),
    figure("a new replica: resident", "MB", residentMb),
  ];
}
