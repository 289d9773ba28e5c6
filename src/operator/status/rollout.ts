/** Rollout state of a Deployment or DaemonSet. Pure. */

import type { DaemonSet, Deployment, Node, Pod } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { hostAccess } from "../manifests/host-access.ts";
import { labelCommand, NODE_ACCESS_LEVEL } from "../manifests/labels.ts";
import { type EventQuery, FAILED_CREATE, refusedPods } from "./event-query.ts";
import { hasSandbox, isBeingCreated, isReady, notReadySinceMs, type Trouble, troubleOf } from "./pod-trouble.ts";
import { CRASHES, FAILED_CREATE_REASON, type MissingWorkload, STANDSTILL, UNSEEN_PODS } from "./reasons.ts";

export type Rollout = (
  | { readonly phase: "ready"; readonly note?: string }
  | { readonly phase: "rolling"; readonly message: string }
  /** It does not go on by itself. */
  | {
      readonly phase: "failing";
      readonly reason: string;
      readonly message: string;
      readonly advice: string;
      readonly eventQuery?: EventQuery | undefined;
    }
  | { readonly phase: "missing"; readonly reason: MissingWorkload; readonly message: string }
) & {
  /** When to check again, because time passes without an event of a watch. Undefined: never. */
  readonly recheckAfterMs?: number | undefined;
};

export interface Surroundings {
  readonly nodes: readonly Node[];
  readonly pods: readonly Pod[];
  /** Wall clock. */
  readonly nowMs: number;
  /** What keeps a pod from running for longer is a failure, not progress. */
  readonly deadlineMs: number;
  /** When something was first seen that has been seen ever since. */
  readonly firstSeenMs: (what: string) => number;
}

/** Of what has no timestamp of its own in the cluster: when it was first seen in this round and each one before. */
export class FirstSeen {
  #before: ReadonlyMap<string, number> = new Map();
  #round = new Map<string, number>();

  /** `newMs`: for what was not seen in the round before. */
  sinceMs(what: string, newMs: number): number {
    const since = this.#round.get(what) ?? this.#before.get(what) ?? newMs;
    this.#round.set(what, since);
    return since;
  }

  endRound(): void {
    this.#before = this.#round;
    this.#round = new Map();
  }
}

/** The rest is counted: a status that names thousands of nodes is too large to be stored and sent to its watchers. */
const MAX_NAMED_NODES = 10;
const MIN_RECHECK_MS = 1_000;

export function rollout(wanted: KubeObject, live: KubeObject | undefined, around: Surroundings): Rollout {
  const title = titleOf(wanted);
  if (live === undefined) {
    const reason = wanted.kind === "DaemonSet" ? "NoDaemonSet" : "NoDeployment";
    return { phase: "missing", reason, message: `${title} does not exist` };
  }
  const counts = wanted.kind === "DaemonSet" ? daemonSetCounts(live) : deploymentCounts(live);
  const pods = podsOf(wanted, around.pods);
  const lost = lostNodes(pods, around.nodes);
  const awaited = progress(counts, lost.length);
  const troubles = troublesOf(pods, new Set(lost), awaited === undefined, around);
  if (awaited !== undefined) troubles.push(...refusals(live), standstill(wanted, awaited, counts, around));

  const nowMs = around.nowMs;
  const [worst] = troubles.filter(({ sinceMs }) => nowMs - sinceMs >= around.deadlineMs);
  if (worst !== undefined) {
    const { reason, advice, eventQuery, untilMs = Number.POSITIVE_INFINITY } = worst;
    // Events that say more come without notice.
    const recheckAfterMs = Math.max(MIN_RECHECK_MS, Math.min(around.deadlineMs / 5, untilMs - nowMs));
    return { phase: "failing", reason, message: `${title}: ${worst.message}`, advice, eventQuery, recheckAfterMs };
  }
  const recheckAfterMs = soonest(troubles.map(({ sinceMs }) => sinceMs + around.deadlineMs - nowMs));
  if (awaited !== undefined) {
    const cause = troubles.find(({ isUsual }) => !isUsual);
    const message = `${title} ${awaited}${cause === undefined ? "" : `: ${cause.message}`}`;
    return { phase: "rolling", message, recheckAfterMs };
  }
  if (lost.length === 0) return { phase: "ready", recheckAfterMs };
  return { phase: "ready", note: `${title} does not run on ${named(lost)}: not ready`, recheckAfterMs };
}

/** While its pods can't be seen. `why`: one sentence. */
export function withoutPods(workload: KubeObject, why: string): Rollout {
  const message = `${titleOf(workload)} can't be judged: ${why}`;
  return { phase: "failing", reason: UNSEEN_PODS, message, advice: "See the operator's log" };
}

/** While API servers can't call the component's webhooks for want of certificates. `message`: one sentence. */
export function withoutCertificates(component: string, message: string, around: Surroundings): Rollout {
  const sinceMs = around.firstSeenMs(`certificates of ${component}`);
  if (around.nowMs - sinceMs < around.deadlineMs) {
    return { phase: "rolling", message, recheckAfterMs: MIN_RECHECK_MS };
  }
  const recheckAfterMs = Math.max(MIN_RECHECK_MS, around.deadlineMs / 5);
  return { phase: "failing", reason: STANDSTILL, message, advice: "See the operator's log", recheckAfterMs };
}

/**
 * What the Pod Security level of the namespace means for a workload. The namespace may belong to somebody else, so the operator
 * asks for its label and never sets it. `level`: undefined where it has none, and the default of the API server counts.
 */
export function underLevel(rollout: Rollout, workload: KubeObject, level: string | undefined): Rollout {
  if (level === undefined || level === NODE_ACCESS_LEVEL || hostAccess(workload) === undefined) return rollout;
  const { namespace = "" } = workload.metadata;
  const title = titleOf(workload);
  const demand = `namespace ${namespace} enforces the Pod Security level ${level}, which takes no pods that use their node`;
  const advice = labelCommand(namespace);
  const { recheckAfterMs } = rollout;
  if (rollout.phase === "rolling") {
    return { phase: "failing", reason: FAILED_CREATE_REASON, message: `${title}: ${demand}`, advice, recheckAfterMs };
  }
  if (rollout.phase !== "ready") return rollout;
  const warning = `${title}: ${demand}: those that run stay, and none can be replaced. ${advice}`;
  return { ...rollout, note: rollout.note === undefined ? warning : `${rollout.note}\n${warning}` };
}

function titleOf({ kind, metadata }: KubeObject): string {
  return `${kind} "${metadata.namespace}/${metadata.name}"`;
}

/** Undefined for none. */
export function soonest(delaysMs: readonly (number | undefined)[]): number | undefined {
  const known = delaysMs.filter((delay) => delay !== undefined && Number.isFinite(delay)) as number[];
  return known.length === 0 ? undefined : Math.min(...known);
}

/**
 * The longest first. Where all pods are there, only one that crashes again and again is in trouble, ready or not: its workload
 * counts a crash a moment later than the pod shows it.
 */
function troublesOf(
  pods: readonly Pod[],
  lost: ReadonlySet<string>,
  isComplete: boolean,
  { nowMs, deadlineMs, firstSeenMs }: Surroundings,
): Trouble[] {
  const troubles = pods.flatMap((pod): Trouble[] => {
    if (lost.has(pod.spec?.nodeName ?? "")) return [];
    const trouble = troubleOf(pod, nowMs, deadlineMs);
    if (trouble === undefined || (isComplete && trouble.reason !== CRASHES)) return [];
    const seenMs = firstSeenMs(`${pod.metadata.uid} ${trouble.reason}`);
    return [{ ...trouble, sinceMs: Math.min(seenMs, trouble.sinceMs || seenMs) }];
  });
  return troubles.sort((a, b) => a.sinceMs - b.sinceMs || (a.message < b.message ? -1 : 1));
}

/** A Deployment says itself that its pods are refused; a DaemonSet says it in events only. */
function refusals(live: KubeObject): Trouble[] {
  const conditions = (live as Deployment).status?.conditions ?? [];
  return conditions.flatMap(({ type, status, message = "", lastTransitionTime }) =>
    type === "ReplicaFailure" && status === "True"
      ? [{ ...refusedPods(message, live.metadata.namespace ?? ""), sinceMs: Date.parse(String(lastTransitionTime)) }]
      : [],
  );
}

/** Last, for everything that has no name. */
function standstill(
  workload: KubeObject,
  awaited: string,
  counts: Counts,
  { deadlineMs, firstSeenMs }: Surroundings,
): Trouble {
  const { kind = "", metadata } = workload;
  const { name = "", namespace = "", uid } = metadata;
  const message = `nothing has happened for ${deadlineMs / 1_000} s: ${awaited.replace(/^is /, "")}`;
  return {
    reason: STANDSTILL,
    isUsual: true,
    message,
    advice: `See kubectl describe ${kind.toLowerCase()} -n ${namespace} ${name}`,
    sinceMs: firstSeenMs(`${kind} ${namespace}/${name} ${JSON.stringify(counts)}`),
    eventQuery: { kind, namespace, name, uid, reasons: FAILED_CREATE },
  };
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
function progress(counts: Counts, lost: number): string | undefined {
  const { desired, available, updated, generation, observedGeneration } = counts;
  const awaited = counts.unavailable - lost;
  if (observedGeneration < generation) {
    return `update is being processed (generation ${generation}, observed generation ${observedGeneration})`;
  }
  if (awaited > 0) return `is not available (awaiting ${awaited} nodes)`;
  if (desired > lost && available === 0) return `is not yet scheduled on any nodes`;
  if (updated < desired - lost) return `update is rolling out (${updated} out of ${desired} updated)`;
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

/** Of nodes. */
export function named(nodes: readonly string[]): string {
  const sorted = [...nodes].sort();
  const more = sorted.length - MAX_NAMED_NODES;
  return `${sorted.slice(0, MAX_NAMED_NODES).join(", ")}${more > 0 ? ` and ${more} more nodes` : ""}`;
}

/**
 * Whether the kubelet has tried for too long to come to the containers of the workload, for example because a mount fails. A
 * pod that has its sandbox has its mounts, and may wait for a large image.
 */
export function cannotStart(workload: KubeObject, { nodes, pods, nowMs, deadlineMs }: Surroundings): boolean {
  const ready = new Set(nodes.filter(isReady).map(({ metadata }) => metadata.name));
  return podsOf(workload, pods).some(
    (pod) =>
      ready.has(pod.spec?.nodeName) &&
      isBeingCreated(pod) &&
      !hasSandbox(pod) &&
      nowMs - notReadySinceMs(pod) >= deadlineMs,
  );
}
