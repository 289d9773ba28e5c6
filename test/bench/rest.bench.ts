/**
 * What the product costs a cluster in which nothing happens: memory and CPU time of each process, as the image has it and as its
 * pod's kubelet counts and probes it, on a real control plane that serves the kinds of KubeVirt and Multus, beside a Node that does nothing.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { writeAppTree } from "../../deploy/image/app-tree.ts";
import { IDLE_NODE_FLAGS } from "../../src/api/image.ts";
import {
  BRIDGE_MARKER,
  LINUX_BRIDGE_DAEMON_SET,
  NETWORK_ADDONS_CONFIG_NAME,
  OPERATOR_NAME,
} from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { kubevirtCrds } from "../cluster/kubevirt/crds.ts";
import { nadCrd } from "../cluster/multus/nad-crd.ts";
import { CONFIGS, NAMESPACE } from "../operator/support/installed-operator.ts";
import { OperatorHarness } from "../operator/support/operator-harness.ts";
import { eventually } from "../support/eventually.ts";
import { type Bench, type BenchRow, limitedRow, mayBeNone, row } from "./bench.ts";
import { NAMESPACES } from "./needs.ts";
import { type Resting, startPod, startResting } from "./resting-pod.ts";

/** V8 gives back what a start needed of young generation within this time. */
const SETTLE_SECONDS = 240;
const SHORT_SETTLE_SECONDS = 30;
const SECONDS = 120;
const SHORT_SECONDS = 30;
/** Of a workload until its pods run. */
const LIMIT_MS = 120_000;

const DAEMON_CPU_MS = 0.3;
const DAEMON_MB: Readonly<Record<string, number>> = { [BRIDGE_MARKER]: 15, [LINUX_BRIDGE_DAEMON_SET]: 17 };
const CONTROL_PART_MB = 150;
const NOTHING = "setInterval(() => {}, 1e6)";
/** What does nothing: with the flags of Node, and with those of a daemon. */
const IDLE: Readonly<Record<string, readonly string[]>> = { idle: [], "idle, small": IDLE_NODE_FLAGS };

interface Rested {
  readonly megabytes: number;
  /** In a second. */
  readonly cpuMs: number;
}

export const bench: Bench = {
  about: "every process at rest, in a control group of its own, beside a Node that does nothing",
  needs: NAMESPACES,
  async run({ short, log }) {
    const tree = await writeAppTree(log);
    await using harness = await OperatorHarness.start();
    for (const crd of [...kubevirtCrds(), nadCrd]) await harness.admin.create(RESOURCES.crds, crd as never);
    await using processes = new AsyncDisposableStack();
    const resting = new Map<string, Resting>();
    const start = async (name: string, starting: Promise<Resting>): Promise<void> => {
      resting.set(name, processes.use(await starting));
    };
    for (const [name, nodeOptions] of Object.entries(IDLE)) {
      await start(name, startResting(name.replaceAll(/\W+/g, "-"), { nodeOptions, program: "-e", args: [NOTHING] }));
    }
    const run = async (only: (name: string) => boolean): Promise<void> => {
      for (const [name, pods] of await podsOf(harness)) {
        if (!only(name)) continue;
        for (const [index, pod] of (name in DAEMON_MB ? pods.slice(0, 1) : pods).entries()) {
          // The first one puts the plugins in place: the kernel keeps what it wrote, until it needs the memory.
          if (name === LINUX_BRIDGE_DAEMON_SET) await (await startPod(name, pod, harness, tree))[Symbol.asyncDispose]();
          const label = index === 0 ? name : `${name}, replica ${index + 1}`;
          await start(label, startPod(label.replaceAll(/\W+/g, "-"), pod, harness, tree));
        }
      }
    };
    await run((name) => name === OPERATOR_NAME);
    await harness.admin.create(CONFIGS, {
      metadata: { name: NETWORK_ADDONS_CONFIG_NAME },
      spec: { linuxBridge: {}, kubeMacPool: {} },
    });
    const isAvailable = async () => (await harness.cluster.condition("Available")) === "True";
    await eventually("everything that is configured", isAvailable, { limitMs: LIMIT_MS });
    await run((name) => name !== OPERATOR_NAME);
    const settle = short ? SHORT_SETTLE_SECONDS : SETTLE_SECONDS;
    const seconds = short ? SHORT_SECONDS : SECONDS;
    log(`${resting.size} processes settle for ${settle} s and rest for ${seconds} s`);
    await sleep(settle * 1000);
    const before = new Map([...resting].map(([name, { group }]) => [name, group.cpuMs]));
    await sleep(seconds * 1000);
    const rested = new Map(
      [...resting].map(([name, { group }]): [string, Rested] => [
        name,
        { megabytes: group.megabytes, cpuMs: (group.cpuMs - (before.get(name) ?? 0)) / seconds },
      ]),
    );
    return rowsOf(rested);
  },
};

/** The pods of each workload; those of Deployments may be several replicas. */
async function podsOf({ admin }: OperatorHarness): Promise<Map<string, Pod[]>> {
  return await eventually("pods of the operator and its workloads", async () => {
    const { items } = await admin.list(RESOURCES.pods, { namespace: NAMESPACE });
    return items.length > 0 && Map.groupBy(items, workloadOf);
  });
}

/** Owners of pods are ReplicaSets, with a hash at their names' ends, and DaemonSets. */
function workloadOf({ metadata }: Pod): string {
  const [owner] = metadata.ownerReferences ?? [];
  return owner?.kind === "ReplicaSet" ? owner.name.replace(/-[^-]+$/, "") : (owner?.name ?? "");
}

function rowsOf(rested: ReadonlyMap<string, Rested>): BenchRow[] {
  const idle = rested.get("idle") ?? { megabytes: Number.NaN, cpuMs: Number.NaN };
  const rows = [...rested].flatMap(([name, { megabytes, cpuMs }]) => {
    const limit = DAEMON_MB[name];
    const what = `CPU time a second (ms: millicores), ${name}`;
    return [
      limit === undefined
        ? row(`memory, ${name}`, "MB", megabytes, idle.megabytes, null)
        : limitedRow(`memory, ${name}`, "MB", megabytes, idle.megabytes, limit),
      mayBeNone(
        limit === undefined
          ? row(what, "ms", cpuMs, idle.cpuMs, null)
          : limitedRow(what, "ms", cpuMs, idle.cpuMs, DAEMON_CPU_MS),
      ),
    ];
  });
  const control = [...rested].filter(([name]) => !(name in IDLE) && !(name in DAEMON_MB));
  const total = control.reduce((sum, [, { megabytes }]) => sum + megabytes, 0);
  return [...rows, limitedRow(`memory, the control part: ${control.length} pods`, "MB", total, null, CONTROL_PART_MB)];
}
