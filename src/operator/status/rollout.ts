/** Rollout state of a Deployment or DaemonSet. Pure. */

import type { DaemonSet, Deployment, Node, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

export type Rollout =
  | { readonly phase: "ready"; readonly note?: string }
  | { readonly phase: "rolling"; readonly message: string }
  /** Pods that will not start by themselves. */
  | { readonly phase: "failing"; readonly reason: string; readonly message: string }
  | { readonly phase: "missing"; readonly reason: "NoDaemonSet" | "NoDeployment"; readonly message: string };

export interface Surroundings {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  /** Wall clock. */
  readonly nowMs: number;
}

/** A pod in trouble for longer counts as failed, not as progressing. */
export const POD_TROUBLE_DEADLINE_MS = 5 * 60_000;

/** The rest is counted: a status that names thousands of nodes is too large to be stored and sent to its watchers. */
const MAX_NAMED_NODES = 10;

const TROUBLE = new Set([
  "CrashLoopBackOff",
  "CreateContainerConfigError",
  "CreateContainerError",
  "ErrImageNeverPull",
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "RunContainerError",
]);

/** The kubelet pulls the image or mounts volumes: a state of every start. */
const BEING_CREATED = "ContainerCreating";

export function rollout(wanted: KubeObject, live: KubeObject | undefined, around: Surroundings): Rollout {
  const title = `${wanted.kind} "${wanted.metadata.namespace}/${wanted.metadata.name}"`;
  if (live === undefined) {
    const reason = wanted.kind === "DaemonSet" ? "NoDaemonSet" : "NoDeployment";
    return { phase: "missing", reason, message: `${title} does not exist` };
  }
  const counts = wanted.kind === "DaemonSet" ? daemonSetCounts(live) : deploymentCounts(live);
  const pods = podsOf(wanted, around.pods);
  const lost = lostNodes(pods, around.nodes);
  const message = progress(title, counts, lost.length);
  if (message === undefined) {
    return lost.length === 0
      ? { phase: "ready" }
      : { phase: "ready", note: `${title} does not run on ${named(lost)}: not ready` };
  }
  const trouble = longestTrouble(pods, around.nowMs);
  if (trouble === undefined) return { phase: "rolling", message };
  return { phase: "failing", reason: trouble.reason, message: `${title}: ${trouble.message}` };
}

interface Counts {
  readonly desired: number;
  readonly available: number;
  readonly unavailable: number;
  readonly updated: number;
  readonly generation: number;
  readonly observedGeneration: number;
}

function daemonSetCounts(live: KubeObject): Counts {
  const status = (live as DaemonSet).status;
  return {
    desired: status?.desiredNumberScheduled ?? 0,
    available: status?.numberAvailable ?? 0,
    unavailable: status?.numberUnavailable ?? 0,
    updated: status?.updatedNumberScheduled ?? 0,
    generation: live.metadata.generation ?? 0,
    observedGeneration: status?.observedGeneration ?? 0,
  };
}

function deploymentCounts(live: KubeObject): Counts {
  const { spec, status } = live as Deployment;
  return {
    desired: spec?.replicas ?? 1,
    available: status?.availableReplicas ?? 0,
    unavailable: status?.unavailableReplicas ?? 0,
    updated: status?.updatedReplicas ?? 0,
    generation: live.metadata.generation ?? 0,
    observedGeneration: status?.observedGeneration ?? 0,
  };
}

/** Undefined if the rollout is complete. Pods on NotReady nodes do not count. */
function progress(title: string, counts: Counts, lost: number): string | undefined {
  const { desired, available, updated, generation, observedGeneration } = counts;
  const awaited = counts.unavailable - lost;
  if (observedGeneration < generation) {
    return `${title} update is being processed (generation ${generation}, observed generation ${observedGeneration})`;
  }
  if (awaited > 0) return `${title} is not available (awaiting ${awaited} nodes)`;
  if (desired > lost && available === 0) return `${title} is not yet scheduled on any nodes`;
  if (updated < desired - lost) return `${title} update is rolling out (${updated} out of ${desired} updated)`;
  return undefined;
}

function podsOf(workload: KubeObject, pods: readonly Pod[]): Pod[] {
  const spec = workload.spec as { readonly selector?: { readonly matchLabels?: Record<string, string> } };
  const selector = Object.entries(spec.selector?.matchLabels ?? {});
  return pods.filter(({ metadata }) => selector.every(([key, value]) => metadata.labels?.[key] === value));
}

/** Names of NotReady nodes with one of the pods. */
function lostNodes(pods: readonly Pod[], nodes: readonly Node[]): string[] {
  const notReady = new Set(nodes.filter((node) => !isReady(node)).map(({ metadata }) => metadata.name));
  return pods.flatMap((pod) => {
    const nodeName = pod.spec?.nodeName;
    return nodeName !== undefined && notReady.has(nodeName) && !isReady(pod) ? [nodeName] : [];
  });
}

function named(nodes: readonly string[]): string {
  const sorted = [...nodes].sort();
  const more = sorted.length - MAX_NAMED_NODES;
  return `${sorted.slice(0, MAX_NAMED_NODES).join(", ")}${more > 0 ? ` and ${more} more nodes` : ""}`;
}

/** Whether the runtime has tried for too long to make a container of the workload, for example because a mount fails. */
export function cannotStart(workload: KubeObject, { nodes, pods, nowMs }: Surroundings): boolean {
  const ready = new Set(nodes.filter(isReady).map(({ metadata }) => metadata.name));
  return podsOf(workload, pods).some(
    (pod) =>
      ready.has(pod.spec?.nodeName) &&
      waitingOf(pod).some(({ reason }) => reason === BEING_CREATED) &&
      nowMs - notReadySince(pod) >= POD_TROUBLE_DEADLINE_MS,
  );
}

/** When to reconcile again, because a deadline passes without a watch event. Undefined: never. */
export function nextDeadlineMs(around: Surroundings): number | undefined {
  const waits = around.pods.flatMap((pod) => {
    const isWaiting = waitingOf(pod).some(({ reason = "" }) => reason === BEING_CREATED || TROUBLE.has(reason));
    const since = isWaiting ? notReadySince(pod) : undefined;
    const left = since === undefined ? 0 : since + POD_TROUBLE_DEADLINE_MS - around.nowMs;
    return left > 0 ? [left] : [];
  });
  return waits.length === 0 ? undefined : Math.min(...waits);
}

function longestTrouble(pods: readonly Pod[], nowMs: number): { reason: string; message: string } | undefined {
  for (const pod of pods) {
    const trouble = troubleOf(pod);
    if (trouble !== undefined && nowMs - notReadySince(pod) >= POD_TROUBLE_DEADLINE_MS) return trouble;
  }
  return undefined;
}

function troubleOf(pod: Pod): { reason: string; message: string } | undefined {
  for (const { name, reason, message: said } of waitingOf(pod)) {
    if (reason !== undefined && TROUBLE.has(reason)) {
      const text = said === undefined || said === "" ? reason : `${reason}: ${said}`;
      return { reason, message: `container ${name} of pod ${pod.metadata.name}: ${text}` };
    }
  }
  return undefined;
}

/** Containers that do not run yet, and why. */
function waitingOf(pod: Pod): { readonly name: string; readonly reason?: string; readonly message?: string }[] {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  return statuses.flatMap(({ name, state }) => (state?.waiting === undefined ? [] : [{ name, ...state.waiting }]));
}

function notReadySince(pod: Pod): number {
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready") as
    | { readonly lastTransitionTime?: unknown }
    | undefined;
  return Date.parse(String(ready?.lastTransitionTime ?? pod.metadata.creationTimestamp));
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] } | undefined;
}

export function isReady(object: WithConditions): boolean {
  return object.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}
