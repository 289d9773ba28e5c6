/** What keeps a pod from running, with the reason that Kubernetes gives for it. Pure. */

import { isFinishedPhase } from "../../api/phase.ts";
import type { Pod } from "../../kube/client/built-in-kinds.ts";
import { type EventQuery, UNHEALTHY } from "./event-query.ts";
import {
  BEING_CREATED,
  CONTAINER_TROUBLES,
  CRASHES,
  IMAGE_PULL,
  NOT_READY,
  POD_EVENTS,
  UNSCHEDULABLE,
} from "./reasons.ts";

export interface Trouble {
  readonly reason: string;
  /** What is wrong with which object. */
  readonly message: string;
  readonly advice: string;
  /** Wall clock. */
  readonly sinceMs: number;
  /** Every start has it for a while. */
  readonly isUsual?: true;
  /** When it may be over without an event of any watch. */
  readonly untilMs?: number;
  /** Which events say more. */
  readonly eventQuery?: EventQuery;
}

const MAX_SAID = 300;
const FIRST_PULL = "ErrImagePull";
const TROUBLE = new Set([...CONTAINER_TROUBLES, FIRST_PULL]);
/** Said of every container while there are init containers to run. */
const INITIALIZING = "PodInitializing";
/** Undefined if nothing is wrong, and if the pod is not to run any more. */
export function troubleOf(pod: Pod, nowMs: number, deadlineMs: number): Trouble | undefined {
  if (pod.metadata.deletionTimestamp !== undefined || isFinishedPhase(pod.status?.phase)) return undefined;
  return unscheduled(pod) ?? crashing(pod, nowMs, deadlineMs) ?? stuck(pod) ?? beingCreated(pod) ?? notReady(pod);
}

/** Whether the runtime still makes a container of the pod. Where there are init containers, the first one waits for the sandbox. */
export function isBeingCreated(pod: Pod): boolean {
  const all = statusesOf(pod);
  const isFirstInit = all[0]?.isInit === true && all[0].state?.waiting?.reason === INITIALIZING;
  return isFirstInit || all.some(({ state }) => state?.waiting?.reason === BEING_CREATED);
}

/** Whether the pod has its volumes and its network, as far as the kubelet says. */
export function hasSandbox(pod: Pod): boolean {
  return conditionOf(pod, "PodReadyToStartContainers")?.status === "True";
}

/** Since when the pod is not ready, although its node is on. */
export function notReadySinceMs(pod: Pod): number {
  const sinceMs = Date.parse(conditionOf(pod, "Ready")?.lastTransitionTime ?? pod.metadata.creationTimestamp ?? "");
  const nodeIsBackMs = statusesOf(pod).map(({ state, lastState }) => {
    const last = state?.terminated ?? lastState?.terminated;
    return wentWithItsNode(last) ? Date.parse(last?.finishedAt ?? "") : Number.NaN;
  });
  return Math.max(sinceMs, ...nodeIsBackMs.filter((ms) => !Number.isNaN(ms)));
}

function unscheduled(pod: Pod): Trouble | undefined {
  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.status !== "False") return undefined;
  return {
    reason: scheduled.reason ?? UNSCHEDULABLE,
    message: `pod ${pod.metadata.name} has no node: ${scheduled.message ?? "the scheduler does not say why"}`,
    advice: "Check the nodes, their taints and ports, and spec.placementConfiguration",
    sinceMs: Date.parse(scheduled.lastTransitionTime ?? ""),
  };
}

/** A container that has run for as long as the deadline has recovered. Until then its next crash is as likely as not. */
function crashing(pod: Pod, nowMs: number, deadlineMs: number): Trouble | undefined {
  for (const { name, state, lastState, restartCount = 0, isInit } of statusesOf(pod)) {
    const last = state?.terminated ?? lastState?.terminated;
    if (wentWithItsNode(last) && state?.waiting?.reason !== CRASHES) continue;
    const hasEnded = state?.terminated !== undefined && !(isInit && state.terminated.exitCode === 0);
    const runsSinceMs = Date.parse(state?.running?.startedAt ?? "");
    const ranMs = Date.parse(last?.finishedAt ?? "") - Date.parse(last?.startedAt ?? "");
    // The kubelet gives no reason while it starts the container anew.
    const isYoung = nowMs - runsSinceMs < deadlineMs || (state?.waiting !== undefined && !state.waiting.reason);
    const isUnstable = restartCount > (isReady(pod) ? 1 : 0) && ranMs < deadlineMs && isYoung;
    if (state?.waiting?.reason !== CRASHES && !hasEnded && !isUnstable) continue;
    const how = last === undefined ? "" : `, last with exit code ${last.exitCode}${why(last)}`;
    return {
      reason: CRASHES,
      message: `container ${name} of pod ${pod.metadata.name} ends again and again${how}`,
      advice: `Read its log: kubectl logs -n ${pod.metadata.namespace} ${pod.metadata.name} -c ${name} --previous`,
      sinceMs: isReady(pod) ? nowMs : notReadySinceMs(pod),
      ...(isUnstable && state?.running ? { untilMs: runsSinceMs + deadlineMs } : {}),
    };
  }
  return undefined;
}

/** containerd's words, when it starts and finds no process for a container: nobody knows how that ended. */
function wentWithItsNode(last: Ended | undefined): boolean {
  return last?.exitCode === 255 && last.reason === "Unknown";
}

/** Its reason and the last line of what it said: of a log that is where the error is. */
function why({ reason = "", message = "" }: Ended): string {
  const line = message.trimEnd().split("\n").at(-1)?.trim().slice(0, MAX_SAID) ?? "";
  return `${reason && ` (${reason})`}${line && `: ${line}`}`;
}

function stuck(pod: Pod): Trouble | undefined {
  for (const { name, state } of statusesOf(pod)) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || !TROUBLE.has(reason)) continue;
    const isPull = reason === FIRST_PULL || reason === IMAGE_PULL;
    const why = isPull ? message?.replace(/^Back-off pulling image "[^"]*": ErrImagePull: /, "") : message;
    const shown = isPull ? IMAGE_PULL : reason;
    return {
      reason: shown,
      message: `container ${name} of pod ${pod.metadata.name}: ${why ? `${shown}: ${why}` : shown}`,
      advice: adviceFor(shown, pod),
      sinceMs: notReadySinceMs(pod),
    };
  }
  return undefined;
}

function adviceFor(reason: string, pod: Pod): string {
  if (reason === IMAGE_PULL || reason === "ErrImageNeverPull" || reason === "InvalidImageName") {
    return "Check the name of the image and whether the nodes can pull it, or set an image mirror (docs/guide/install.md)";
  }
  if (reason === "CreateContainerConfigError") return `Create it in namespace ${pod.metadata.namespace}`;
  return describeIt(pod);
}

function beingCreated(pod: Pod): Trouble | undefined {
  const { name = "", namespace = "" } = pod.metadata;
  if (!isBeingCreated(pod) && (pod.status?.phase !== "Pending" || statusesOf(pod).length > 0)) return undefined;
  return {
    reason: BEING_CREATED,
    isUsual: true,
    message: `the containers of pod ${name} are still not created on node ${pod.spec?.nodeName}`,
    advice: describeIt(pod),
    sinceMs: notReadySinceMs(pod),
    eventQuery: { kind: "Pod", namespace, name, reasons: POD_EVENTS },
  };
}

function notReady(pod: Pod): Trouble | undefined {
  const ready = conditionOf(pod, "Ready");
  if (pod.spec?.nodeName === undefined || ready?.status !== "False") return undefined;
  const { name = "", namespace = "" } = pod.metadata;
  return {
    reason: ready.reason ?? NOT_READY,
    isUsual: true,
    message: `pod ${name} runs and is not ready: ${ready.message ?? "the kubelet does not say why"}`,
    advice: `Read its log: kubectl logs -n ${namespace} ${name} --all-containers`,
    sinceMs: notReadySinceMs(pod),
    eventQuery: { kind: "Pod", namespace, name, reasons: UNHEALTHY, keepReason: true },
  };
}

function describeIt({ metadata: { name, namespace } }: Pod): string {
  return `See kubectl describe pod -n ${namespace} ${name}`;
}

interface Ended {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
  readonly startedAt?: string;
  readonly finishedAt?: string;
}

interface ContainerState {
  readonly name: string;
  readonly restartCount?: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: Ended;
  };
  readonly lastState?: { readonly terminated?: Ended };
}

function statusesOf({ status }: Pod): (ContainerState & { readonly isInit: boolean })[] {
  const init = (status?.initContainerStatuses ?? []) as readonly ContainerState[];
  const main = (status?.containerStatuses ?? []) as readonly ContainerState[];
  return [...init.map((each) => ({ ...each, isInit: true })), ...main.map((each) => ({ ...each, isInit: false }))];
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

function conditionOf({ status }: Pod, type: string): Condition | undefined {
  return (status?.conditions as readonly Condition[] | undefined)?.find((condition) => condition.type === type);
}

interface WithConditions {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] } | undefined;
}

export function isReady(object: WithConditions): boolean {
  return object.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}
