/**
 * What each process of the image takes from its container's start until it is ready, as a cluster sees it: its bundle in a
 * pod, beside a real control plane. One pod at a time is deleted, and the one in its place is watched.
 */

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { entryPoint, IMAGE_PROCESSES, IMAGE_ROOT, type ImageProcess } from "../../src/api/image.ts";
import { DEFAULT_NAMESPACE } from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { eventually } from "../support/eventually.ts";
import { type Bench, type BenchRow, row } from "./bench.ts";
import { ClusterBed } from "./cluster-bed.ts";
import { findPids } from "./cluster-processes.ts";
import { median } from "./cni-timer.ts";
import { NAMESPACES } from "./needs.ts";

/** Beside multus, whose image another project builds. */
const NOT_DEPLOYED: ImageProcess = "multus-sidecar";
const ROUNDS = 5;
const SHORT_ROUNDS = 2;
/** Of `starttime` in /proc/PID/stat. */
const TICK_MS = 10;
const POLL_MS = 10;
const LIMIT_MS = 120_000;

export const bench: Bench = {
  about: "each process of the image, from the start of its container to its readiness; median",
  needs: NAMESPACES,
  async run(context) {
    await using bed = await ClusterBed.start(0, context);
    await bed.configure();
    await bed.untilAvailable();
    const rows: BenchRow[] = [];
    for (const name of IMAGE_PROCESSES) {
      if (name === NOT_DEPLOYED) continue;
      context.log(`${name}: starting it again`);
      const timesMs: number[] = [];
      const rounds = context.short ? SHORT_ROUNDS : ROUNDS;
      while (timesMs.length < rounds) timesMs.push(await restart(name, bed.admin));
      rows.push(row(`${name}: start to ready`, "ms", median(timesMs), null, null));
    }
    return rows;
  },
};

/** In ms, of the pod that comes in the place of a deleted one. */
async function restart(name: ImageProcess, client: KubeClient): Promise<number> {
  const known = { pods: await podsOf(name, client), pids: findPids(entryPoint(name)) };
  const [first] = known.pods;
  if (first === undefined) throw new Error(`${name} does not run`);
  await client.delete(RESOURCES.pods, referenceTo(first));
  const limit = { limitMs: LIMIT_MS };
  const isNew = (pod: Pod): boolean => known.pods.every((one) => one.metadata?.uid !== pod.metadata?.uid);
  const what = `a pod of ${name} in place of the deleted one`;
  const next = await eventually(what, async () => (await podsOf(name, client)).find(isNew), limit);
  const pid = await eventually(
    `the process of ${name}`,
    () => findPids(entryPoint(name)).find((one) => !known.pids.includes(one)),
    limit,
  );
  const path = readinessPath(next);
  while (!(await answers(path, client))) await sleep(POLL_MS);
  const timeMs = uptimeMs() - startMs(pid);
  const isOver = async (): Promise<boolean> =>
    findPids(entryPoint(name)).length === known.pids.length &&
    (await podsOf(name, client)).length === known.pods.length;
  await eventually(`the end of the deleted pod of ${name}`, isOver, limit);
  return timeMs;
}

async function podsOf(name: ImageProcess, client: KubeClient): Promise<Pod[]> {
  const { items } = await client.list(RESOURCES.pods, { namespace: DEFAULT_NAMESPACE });
  const runs = ({ command = [] }: { command?: string[] }): boolean =>
    command.includes(`${IMAGE_ROOT}/${entryPoint(name)}`);
  return items.filter(({ spec }) => spec?.containers.some(runs));
}

const referenceTo = ({ metadata }: Pod) => ({ name: metadata?.name ?? "", namespace: DEFAULT_NAMESPACE });

/** The way to its readiness probe through the API server. */
function readinessPath(pod: Pod): string {
  const [container] = pod.spec?.containers ?? [];
  const { port, path } = container?.readinessProbe?.httpGet ?? {};
  const number = container?.ports?.find((one) => one.name === port)?.containerPort ?? port;
  return `/api/v1/namespaces/${DEFAULT_NAMESPACE}/pods/${pod.metadata?.name}:${number}/proxy${path}`;
}

async function answers(path: string, client: KubeClient): Promise<boolean> {
  return (await client.raw("GET", path)).status === 200;
}

const uptimeMs = (): number => Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1000;

/** Of a process, from the machine's start. */
const startMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[19]) * TICK_MS;
