import { describe, expect, it } from "vitest";
import type { Node, Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import {
  cannotStart,
  FirstSeen,
  rollout,
  type Surroundings,
  withoutCertificates,
  withoutPods,
} from "../../../src/operator/status/rollout.ts";

const NOW = Date.parse("2026-01-01T01:00:00Z");
const DEADLINE_MS = 300_000;
const daemonSet = workload("DaemonSet");
const deployment = workload("Deployment");

function workload(kind: string): KubeObject {
  const spec = { replicas: 2, selector: { matchLabels: { name: "w" } } };
  return { apiVersion: "apps/v1", kind, metadata: { name: "w", namespace: "ns", generation: 3 }, spec };
}

function live(object: KubeObject, status: object): KubeObject {
  return { ...object, status: { observedGeneration: 3, ...status } };
}

function node(name: string, ready: boolean): Node {
  return { metadata: { name }, status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] } };
}

function pod(nodeName: string, ready: boolean, waiting?: { reason: string; message: string; since: number }): Pod {
  const lastTransitionTime = new Date(waiting?.since ?? NOW).toISOString();
  const conditions = [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime }];
  const container = { name: "c", image: "i", imageID: "", ready, restartCount: 0 };
  const state =
    waiting === undefined ? {} : { state: { waiting: { reason: waiting.reason, message: waiting.message } } };
  return {
    metadata: { name: "w-1", namespace: "ns", labels: { name: "w" }, creationTimestamp: lastTransitionTime },
    spec: { nodeName, containers: [] },
    status: { conditions, containerStatuses: [{ ...container, ...state }] },
  } as unknown as Pod;
}

function around(nodes: Node[], pods: Pod[], firstSeenMs: number = NOW): Surroundings {
  return { nodes, pods, nowMs: NOW, deadlineMs: DEADLINE_MS, firstSeenMs: () => firstSeenMs };
}

function rolloutOf(wanted: KubeObject, present: KubeObject | undefined, nodes: Node[] = [], pods: Pod[] = []) {
  return rollout(wanted, present, around(nodes, pods));
}

it("calls missing certificates progress until the deadline, and a failure from then on", () => {
  const message = "the certificates are not in place";
  const since = (ms: number) => withoutCertificates("c", message, around([], [], ms));
  expect(since(NOW - DEADLINE_MS + 1)).toMatchObject({ phase: "rolling", message, recheckAfterMs: 1_000 });
  expect(since(NOW - DEADLINE_MS)).toMatchObject({ phase: "failing", reason: "ProgressDeadlineExceeded", message });
});

it("remembers when it first saw what it has seen in each round since", () => {
  const seen = new FirstSeen();
  expect(seen.sinceMs("a", 1)).toBe(1);
  seen.endRound();
  expect([seen.sinceMs("a", 2), seen.sinceMs("b", 2)]).toEqual([1, 2]);
  seen.endRound();
  expect(seen.sinceMs("b", 3)).toBe(2);
  seen.endRound();
  expect(seen.sinceMs("a", 4)).toBe(4);
});

describe("a rollout", () => {
  it("can't be judged while its pods can't be seen", () => {
    expect(withoutPods(daemonSet, "the API server does not list pods: forbidden")).toMatchObject({
      phase: "failing",
      reason: "InternalError",
      message: `DaemonSet "ns/w" can't be judged: the API server does not list pods: forbidden`,
    });
  });

  it("says what keeps a pod from running as soon as that is known, and nothing of what every start has", () => {
    const awaited = `DaemonSet "ns/w" is not available (awaiting 1 nodes)`;
    const counts = live(daemonSet, { desiredNumberScheduled: 1, numberUnavailable: 1, updatedNumberScheduled: 1 });
    const withPod = (one: Pod) => rolloutOf(daemonSet, counts, [node("a", true)], [one]);
    const why = { reason: "ImagePullBackOff", message: "no such image", since: NOW };
    const message = `${awaited}: container c of pod w-1: ImagePullBackOff: no such image`;
    expect(withPod(pod("a", false, why))).toMatchObject({ phase: "rolling", message });
    for (const usual of [pod("a", false, { reason: "ContainerCreating", message: "", since: NOW }), pod("a", false)]) {
      expect(withPod(usual)).toMatchObject({ phase: "rolling", message: awaited });
    }
  });

  it("is ready when every pod is available, also when no node matches", () => {
    expect(rolloutOf(daemonSet, live(daemonSet, { desiredNumberScheduled: 0 }))).toEqual({ phase: "ready" });
    const counts = { desiredNumberScheduled: 2, numberAvailable: 2, updatedNumberScheduled: 2 };
    expect(rolloutOf(daemonSet, live(daemonSet, counts))).toEqual({ phase: "ready" });
    expect(rolloutOf(deployment, live(deployment, { availableReplicas: 2, updatedReplicas: 2 }))).toEqual({
      phase: "ready",
    });
  });

  it.each([
    [daemonSet, { desiredNumberScheduled: 2, numberUnavailable: 2 }, "is not available (awaiting 2 nodes)"],
    [daemonSet, { desiredNumberScheduled: 2 }, "is not yet scheduled on any nodes"],
    [
      daemonSet,
      { desiredNumberScheduled: 2, numberAvailable: 2, updatedNumberScheduled: 1 },
      "update is rolling out (1 out of 2 updated)",
    ],
    [daemonSet, { observedGeneration: 2 }, "update is being processed (generation 3, observed generation 2)"],
    [deployment, { availableReplicas: 1, unavailableReplicas: 1 }, "is not available (awaiting 1 nodes)"],
    [deployment, {}, "is not yet scheduled on any nodes"],
  ])("says how far a %o has come", (wanted, status, text) => {
    const message = `${wanted.kind} "ns/w" ${text}`;
    expect(rolloutOf(wanted, live(wanted, status))).toMatchObject({
      phase: "rolling",
      message,
      recheckAfterMs: DEADLINE_MS,
    });
  });

  it("does not wait for a node that is not ready, but names it", () => {
    const counts = { desiredNumberScheduled: 2, numberAvailable: 1, numberUnavailable: 1, updatedNumberScheduled: 2 };
    const nodes = [node("a", true), node("b", false)];
    expect(rolloutOf(daemonSet, live(daemonSet, counts), nodes, [pod("a", true), pod("b", false)])).toEqual({
      phase: "ready",
      note: 'DaemonSet "ns/w" does not run on b: not ready',
    });
  });

  it("names ten lost nodes, in order, and counts the others", () => {
    const names = Array.from({ length: 5_000 }, (_, i) => `node-${9_999 - i}`);
    const counts = { desiredNumberScheduled: 5_000, numberUnavailable: 5_000, updatedNumberScheduled: 0 };
    const nodes = names.map((name) => node(name, false));
    const pods = names.map((name) => pod(name, false));
    const first = Array.from({ length: 10 }, (_, i) => `node-${5_000 + i}`).join(", ");
    expect(rolloutOf(daemonSet, live(daemonSet, counts), nodes, pods)).toEqual({
      phase: "ready",
      note: `DaemonSet "ns/w" does not run on ${first} and 4990 more nodes: not ready`,
    });
  });

  it("fails with the pod's own reason once the deadline is over", () => {
    const counts = { desiredNumberScheduled: 1, numberUnavailable: 1 };
    const since = NOW - DEADLINE_MS;
    const stuck = pod("a", false, { reason: "ImagePullBackOff", message: "no such image", since });
    expect(rolloutOf(daemonSet, live(daemonSet, counts), [node("a", true)], [stuck])).toMatchObject({
      phase: "failing",
      reason: "ImagePullBackOff",
      message: 'DaemonSet "ns/w": container c of pod w-1: ImagePullBackOff: no such image',
      advice:
        "Check the name of the image and whether the nodes can pull it, or set an image mirror (docs/guide/install.md)",
    });
    const young = pod("a", false, { reason: "ImagePullBackOff", message: "", since: since + 1000 });
    expect(rolloutOf(daemonSet, live(daemonSet, counts), [node("a", true)], [young])).toMatchObject({
      phase: "rolling",
      recheckAfterMs: 1000,
    });
    const elsewhere = [node("a", false), node("b", true)];
    const more = { ...counts, desiredNumberScheduled: 2, numberUnavailable: 2 };
    expect(rolloutOf(daemonSet, live(daemonSet, more), elsewhere, [stuck])).toMatchObject({ phase: "rolling" });
  });

  it("fails on between two crashes, also before its workload counts the last one", () => {
    const counts = { desiredNumberScheduled: 1, numberAvailable: 1, updatedNumberScheduled: 1 };
    const crashed = pod("a", false, { reason: "CrashLoopBackOff", message: "back-off 20s", since: NOW });
    const seenMs = NOW - DEADLINE_MS;
    expect(rollout(daemonSet, live(daemonSet, counts), around([node("a", true)], [crashed], seenMs))).toMatchObject({
      phase: "failing",
      reason: "CrashLoopBackOff",
    });
    const unready = pod("a", false);
    expect(rollout(daemonSet, live(daemonSet, counts), around([node("a", true)], [unready], seenMs))).toMatchObject({
      phase: "ready",
    });
  });

  it("fails when its pods are refused, or nothing happens for as long as the deadline", () => {
    const since = new Date(NOW - DEADLINE_MS).toISOString();
    const refused = {
      type: "ReplicaFailure",
      status: "True",
      reason: "FailedCreate",
      message: 'pods "w-5d4-" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0',
      lastTransitionTime: since,
    };
    expect(rolloutOf(deployment, live(deployment, { conditions: [refused] }))).toMatchObject({
      phase: "failing",
      reason: "FailedCreate",
      message:
        'Deployment "ns/w": its pods are refused: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0',
      advice: "Raise the quota of namespace ns",
    });
    expect(
      rollout(daemonSet, live(daemonSet, { desiredNumberScheduled: 1 }), around([], [], Date.parse(since))),
    ).toEqual({
      phase: "failing",
      reason: "ProgressDeadlineExceeded",
      message: 'DaemonSet "ns/w": nothing has happened for 300 s: not yet scheduled on any nodes',
      advice: "See kubectl describe daemonset -n ns w",
      eventQuery: { kind: "DaemonSet", namespace: "ns", name: "w", reasons: new Set(["FailedCreate"]) },
      recheckAfterMs: 60_000,
    });
  });

  it("can't start where a container is being created for too long on a node that is ready", () => {
    const since = NOW - DEADLINE_MS;
    const waits = (ms: number) => pod("a", false, { reason: "ContainerCreating", message: "", since: ms });
    const cannot = (stuck: Pod, ready = true) => cannotStart(daemonSet, around([node("a", ready)], [stuck]));
    expect([cannot(waits(since)), cannot(waits(since + 1000)), cannot(waits(since), false)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(cannot(pod("a", true))).toBe(false);
    // It has its mounts, and pulls an image.
    const pulls = waits(since);
    pulls.status?.conditions?.push({ type: "PodReadyToStartContainers", status: "True" });
    expect(cannot(pulls)).toBe(false);
  });

  it("misses what is not there", () => {
    expect(rolloutOf(daemonSet, undefined)).toMatchObject({ phase: "missing", reason: "NoDaemonSet" });
    expect(rolloutOf(deployment, undefined)).toMatchObject({ phase: "missing", reason: "NoDeployment" });
  });
});
