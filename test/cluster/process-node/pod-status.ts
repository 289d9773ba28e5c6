/** A pod's status from what the node knows about it. Pure. */
import type { ContainerStatus, PodCondition, PodStatus } from "kubernetes-types/core/v1.js";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";

export interface PodFacts {
  readonly pod: Pod;
  readonly startTime: string;
  readonly hostIp: string;
  /** Set once the network is complete. */
  readonly podIp: string | undefined;
  readonly initialized: boolean;
  readonly stopping: boolean;
  readonly containers: readonly ContainerStatus[];
  readonly initContainers: readonly ContainerStatus[];
  /** Conditions reported before: their transition times stay while the status does. */
  readonly previous: readonly PodCondition[];
  readonly now: string;
}

export function podStatus(facts: PodFacts): PodStatus {
  const { pod, podIp, hostIp, startTime } = facts;
  const phase = podPhase(facts);
  const all = [...facts.containers, ...facts.initContainers];
  const containersReady = phase === "Running" && !facts.stopping && all.every(({ ready }) => ready);
  const generation = pod.metadata.generation;
  const condition = (type: string, holds: boolean, reason: string): PodCondition => {
    const status = holds ? "True" : "False";
    const before = facts.previous.find((each) => each.type === type);
    return {
      type,
      status,
      lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? facts.now) : facts.now,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      // Conditions are merged by type, so an earlier reason has to be taken back.
      reason: holds ? "" : reason,
    };
  };
  return {
    phase,
    startTime,
    hostIP: hostIp,
    hostIPs: [{ ip: hostIp }],
    ...(podIp === undefined ? {} : { podIP: podIp, podIPs: [{ ip: podIp }] }),
    conditions: [
      condition("PodReadyToStartContainers", podIp !== undefined, "SandboxNotReady"),
      condition("Initialized", facts.initialized, "ContainersNotInitialized"),
      condition("ContainersReady", containersReady, "ContainersNotReady"),
      condition("Ready", containersReady, "ContainersNotReady"),
    ],
    containerStatuses: [...facts.containers],
    ...(facts.initContainers.length === 0 ? {} : { initContainerStatuses: [...facts.initContainers] }),
  };
}

function podPhase({ pod, stopping, containers, initContainers }: PodFacts): string {
  const restarts = pod.spec?.restartPolicy ?? "Always";
  if (restarts === "Never" && initContainers.some(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0)) {
    return "Failed";
  }
  const ends = containers.flatMap(({ state }) => state?.terminated ?? []);
  if (ends.length === containers.length && (stopping || restarts !== "Always")) {
    return ends.every(({ exitCode }) => exitCode === 0) ? "Succeeded" : "Failed";
  }
  const everRan = containers.some(({ state, lastState }) => state?.running ?? state?.terminated ?? lastState);
  return everRan ? "Running" : "Pending";
}
