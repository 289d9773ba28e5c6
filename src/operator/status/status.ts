/** The status of the NetworkAddonsConfig: its content, whether to write it, and the events of a change. Pure. */

import type {
  ContainerStatus,
  NetworkAddonsCondition,
  NetworkAddonsConfigStatus,
} from "../../api/network-addons-config.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { ANOTHER_OPERATOR, componentRows, STANDING_BACK, standingBack, type Verdict, verdicts } from "./conditions.ts";
import type { Outcome, Reconciled, StandingBack } from "./outcome.ts";
import { CONFIGURATION_FAILURES } from "./reasons.ts";

export interface StatusInput {
  readonly outcome: Outcome;
  readonly previous: NetworkAddonsConfigStatus | undefined;
  readonly generation: number | undefined;
  readonly version: string;
  readonly nowMs: number;
}

export function nextStatus({ outcome, previous, generation, version, nowMs }: StatusInput): NetworkAddonsConfigStatus {
  const now = timestamp(nowMs);
  if (outcome.kind === "standing-back") return standingBackStatus(outcome, version, now, previous);
  const wanted = verdicts(outcome);
  const isAvailable = wanted.some(({ type, status }) => type === "Available" && status === "True");
  const reconciled = broughtAbout(outcome);
  const observedVersion = isAvailable ? version : previous?.observedVersion;
  return {
    operatorVersion: version,
    targetVersion: version,
    ...(observedVersion === undefined ? {} : { observedVersion }),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    conditions: wanted.map((verdict) => condition(verdict, previous?.conditions, now)),
    containers: reconciled?.workloads.flatMap(containersOf) ?? previous?.containers ?? [],
    ...distributionsOf(reconciled ?? previous),
    components: reconciled === undefined ? (previous?.components ?? []) : componentRows(reconciled.components),
  };
}

/** Only this operator writes `observedGeneration`, and the predecessor drops it: without it the rest is somebody else's word. */
function standingBackStatus(
  { message }: StandingBack,
  version: string,
  now: string,
  previous: NetworkAddonsConfigStatus = {},
): NetworkAddonsConfigStatus {
  const isComplete = ["Available", "Progressing", "Degraded"].every((type) => find(previous.conditions, type));
  const isReported = isComplete && previous.observedGeneration === undefined;
  const own = standingBack(message, isReported).map((verdict) => condition(verdict, previous.conditions, now));
  const kept = (previous.conditions ?? []).filter(({ type }) => find(own, type) === undefined);
  const unknown: Verdict = { type: "Available", status: "False", reason: ANOTHER_OPERATOR };
  const missing = find(kept, "Available") === undefined ? [condition(unknown, undefined, now)] : [];
  const versions = isReported ? {} : { operatorVersion: version, targetVersion: version };
  return { ...previous, ...versions, conditions: [...kept, ...missing, ...own] };
}

function distributionsOf({ distributions = [] }: { readonly distributions?: readonly string[] } = {}) {
  return distributions.length === 0 ? {} : { distributions: [...distributions] };
}

/** Undefined if nothing was brought about: then what was said about containers and components stands. */
function broughtAbout(outcome: Outcome): Reconciled | undefined {
  if (outcome.kind === "reconciled") return outcome;
  return outcome.kind === "refused" ? outcome.running : undefined;
}

/** Heartbeats do not count as a change, so an idle operator writes nothing. */
export function isSameStatus(a: NetworkAddonsConfigStatus | undefined, b: NetworkAddonsConfigStatus): boolean {
  return JSON.stringify(essence(a)) === JSON.stringify(essence(b));
}

export interface Announcement {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** One event for each transition from the previous status. */
export function announcements(
  previous: NetworkAddonsConfigStatus | undefined,
  next: NetworkAddonsConfigStatus,
): Announcement[] {
  const became = (type: string): NetworkAddonsCondition | undefined => {
    const before = find(previous?.conditions, type);
    const after = find(next.conditions, type);
    if (after?.status !== "True") return undefined;
    return before?.status === "True" && before.reason === after.reason ? undefined : after;
  };
  const standing = find(next.conditions, STANDING_BACK);
  const stood = find(previous?.conditions, STANDING_BACK);
  const modified =
    previous?.observedGeneration !== undefined && previous.observedGeneration !== next.observedGeneration;
  const degraded = became("Degraded");
  const progressing = became("Progressing");
  const available = became("Available");
  return [
    ...(modified ? [normal("Modified", `Reconciling generation ${next.observedGeneration} of the configuration`)] : []),
    ...(standing === undefined || standing.message === stood?.message
      ? []
      : [{ type: "Warning" as const, reason: STANDING_BACK, message: standing.message ?? "" }]),
    ...(stood === undefined || standing !== undefined
      ? []
      : [normal("TakingOver", "No other operator is in charge of the configuration any more")]),
    ...(degraded === undefined || standing !== undefined
      ? []
      : [
          {
            type: "Warning" as const,
            reason: `Failed: ${degraded.reason}`,
            message: `Operator failed: ${degraded.message}`,
          },
        ]),
    ...(progressing === undefined
      ? []
      : [normal("Progressing", progressing.message ?? "Components are being deployed")]),
    ...(available === undefined
      ? []
      : [normal("Available", `All components of generation ${next.observedGeneration} are available`)]),
  ];
}

const NOT_OF_PODS: ReadonlySet<string> = new Set(CONFIGURATION_FAILURES);

/** Names of the components whose pods can't run, as the status reports it. */
export function componentsInTrouble(status: NetworkAddonsConfigStatus | undefined): ReadonlySet<string> {
  const rows = status?.components ?? [];
  const troubled = rows.filter(({ phase, reason = "" }) => phase === "Degraded" && !NOT_OF_PODS.has(reason));
  return new Set(troubled.map(({ name }) => name));
}

function condition(
  verdict: Verdict,
  previous: readonly NetworkAddonsCondition[] | undefined,
  now: string,
): NetworkAddonsCondition {
  const before = find(previous, verdict.type);
  const unchanged = before?.status === verdict.status ? before.lastTransitionTime : undefined;
  return { ...verdict, lastTransitionTime: unchanged ?? now, lastHeartbeatTime: now };
}

function containersOf(workload: KubeObject): ContainerStatus[] {
  const spec = workload.spec as { readonly template?: { readonly spec?: PodContainers } } | undefined;
  const pod = spec?.template?.spec;
  return [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])].map(({ name, image = "" }) => ({
    parentKind: workload.kind ?? "",
    parentName: workload.metadata.name ?? "",
    name,
    image,
  }));
}

interface PodContainers {
  readonly initContainers?: readonly { readonly name: string; readonly image?: string }[];
  readonly containers?: readonly { readonly name: string; readonly image?: string }[];
}

/** Fields in one order, without heartbeats. An absent list equals an empty one. */
function essence(status: NetworkAddonsConfigStatus | undefined): unknown {
  if (status === undefined) return undefined;
  const conditions = (status.conditions ?? [])
    .map(({ type, status: value, reason, message, lastTransitionTime }) => [
      type,
      value,
      reason ?? "",
      message ?? "",
      lastTransitionTime ?? "",
    ])
    .sort();
  const containers = (status.containers ?? []).map((entry) => [
    entry.parentKind,
    entry.parentName,
    entry.name,
    entry.image,
  ]);
  const components = (status.components ?? []).map(({ name, phase, reason, message, hostPaths }) => [
    name,
    phase,
    reason ?? "",
    message ?? "",
    hostPaths ?? [],
  ]);
  const { operatorVersion, targetVersion, observedVersion, observedGeneration, distributions = [] } = status;
  const versions = [operatorVersion, targetVersion, observedVersion, observedGeneration];
  return [...versions, conditions, containers, components, distributions];
}

function find(conditions: readonly NetworkAddonsCondition[] | undefined, type: string) {
  return conditions?.find((candidate) => candidate.type === type);
}

function normal(reason: string, message: string): Announcement {
  return { type: "Normal", reason, message };
}

function timestamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}
