import { describe, expect, it } from "vitest";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import { troubleOf } from "../../../src/operator/status/pod-trouble.ts";

const NOW = Date.parse("2026-01-01T01:00:00Z");
const DEADLINE_MS = 300_000;
const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();

interface Container {
  readonly name: string;
  readonly restartCount: number;
  readonly state: object;
  readonly lastState?: object;
}

function pod(isReady: boolean, containerStatuses: readonly Container[], more: object = {}): Pod {
  const ready = { type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: ago(400) };
  return {
    metadata: { name: "w-1", namespace: "ns", uid: "u", creationTimestamp: ago(500) },
    spec: { nodeName: "a" },
    status: { phase: "Running", conditions: [ready], containerStatuses, ...more },
  } as unknown as Pod;
}

/** A container that ran for so many seconds until it crashed, and has run again for so many. */
function crashed(restartCount: number, ranSeconds: number, runsSeconds: number): Container {
  const finished = runsSeconds + 10;
  const ended = { exitCode: 1, reason: "Error", startedAt: ago(finished + ranSeconds), finishedAt: ago(finished) };
  const state = { running: { startedAt: ago(runsSeconds) } };
  return { name: "c", restartCount, state, lastState: { terminated: ended } };
}

const trouble = (one: Pod) => troubleOf(one, NOW, DEADLINE_MS);
const waits = (reason: string, message: string): Container => ({
  ...{ name: "c", restartCount: 0 },
  state: { waiting: { reason, message } },
});

describe("the trouble of a pod", () => {
  it("is that it ends again and again, also while it is ready for some seconds", () => {
    const expected = {
      reason: "CrashLoopBackOff",
      message: "container c of pod w-1 ends again and again, last with exit code 1 (Error)",
      advice: "Read its log: kubectl logs -n ns w-1 -c c --previous",
    };
    expect(trouble(pod(true, [crashed(3, 8, 5)]))).toEqual({ ...expected, sinceMs: NOW, untilMs: NOW + 295_000 });
    const { lastState } = crashed(3, 8, 5);
    const back = { ...crashed(3, 8, 5), ...waits("CrashLoopBackOff", "back-off 20s restarting"), lastState };
    expect(trouble(pod(false, [back as Container]))).toEqual({ ...expected, sinceMs: NOW - 400_000 });
    const starting = { ...crashed(3, 8, 5), state: { waiting: {} } };
    expect(trouble(pod(false, [starting]))).toEqual({ ...expected, sinceMs: NOW - 400_000 });
    const ended = { exitCode: 1, reason: "Error" };
    expect(trouble(pod(false, [{ name: "c", restartCount: 0, state: { terminated: ended } }]))).toMatchObject(expected);
  });

  it("is why it ends, as far as its container says so", () => {
    const ended = (message: string) => {
      const terminated = { exitCode: 1, reason: "Error", message };
      return trouble(pod(false, [{ name: "c", restartCount: 0, state: { terminated } }]))?.message;
    };
    const end = "container c of pod w-1 ends again and again, last with exit code 1 (Error)";
    expect(ended("Port 9443 is in use")).toBe(`${end}: Port 9443 is in use`);
    expect(ended("starting\nno such interface\n")).toBe(`${end}: no such interface`);
    expect(ended("x".repeat(2_000))).toBe(`${end}: ${"x".repeat(300)}`);
    expect(ended("")).toBe(end);
  });

  it.each([
    ["one crash", crashed(1, 8, 5)],
    ["a crash after it ran for long", crashed(9, 301, 5)],
    ["crashes before it ran for long", crashed(9, 8, 301)],
  ])("is not %s, once it is ready", (_, container) => {
    expect(trouble(pod(true, [container]))).toBeUndefined();
  });

  it("is no crash where the node went off, and begins when the node is back", () => {
    const terminated = { exitCode: 255, reason: "Unknown", startedAt: ago(13), finishedAt: ago(5) };
    const usual = { reason: "ContainersNotReady", isUsual: true, sinceMs: NOW - 5_000 };
    const ended = { name: "c", restartCount: 0, state: { terminated } };
    expect(trouble(pod(false, [ended]))).toMatchObject(usual);
    const again = { name: "c", restartCount: 1, state: { running: { startedAt: ago(1) } }, lastState: { terminated } };
    expect(trouble(pod(false, [again]))).toMatchObject(usual);
    expect(trouble(pod(true, [{ ...again, restartCount: 2 }]))).toBeUndefined();
    // A program may end with this code itself, and a container crash after its node was off.
    const own = { ...ended, state: { terminated: { ...terminated, reason: "Error" } } };
    const crashes = { ...again, state: { waiting: { reason: "CrashLoopBackOff" } } };
    for (const each of [own, crashes]) expect(trouble(pod(false, [each]))?.reason).toBe("CrashLoopBackOff");
  });

  it("has one text for both states of a pull that fails", () => {
    const said = "failed to resolve reference";
    const pull = trouble(pod(false, [waits("ErrImagePull", said)]));
    expect(pull).toMatchObject({
      reason: "ImagePullBackOff",
      message: `container c of pod w-1: ImagePullBackOff: ${said}`,
    });
    const backOff = `Back-off pulling image "i:1": ErrImagePull: ${said}`;
    expect(trouble(pod(false, [waits("ImagePullBackOff", backOff)]))).toEqual(pull);
  });

  it("is a ConfigMap that is missing", () => {
    expect(trouble(pod(false, [waits("CreateContainerConfigError", 'configmap "x" not found')]))).toMatchObject({
      reason: "CreateContainerConfigError",
      message: 'container c of pod w-1: CreateContainerConfigError: configmap "x" not found',
      advice: "Create it in namespace ns",
    });
  });

  it("is that the scheduler finds no node", () => {
    const message = "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports.";
    const scheduled = {
      type: "PodScheduled",
      status: "False",
      reason: "Unschedulable",
      message,
      lastTransitionTime: ago(9),
    };
    const unscheduled = { ...pod(false, []), spec: {} } as Pod;
    const status = { phase: "Pending", conditions: [scheduled] } as unknown as NonNullable<Pod["status"]>;
    expect(trouble({ ...unscheduled, status })).toMatchObject({
      reason: "Unschedulable",
      message: `pod w-1 has no node: ${message}`,
      sinceMs: NOW - 9_000,
    });
  });

  it("is that its containers are not created, or not ready: events say why", () => {
    const eventQuery = { kind: "Pod", namespace: "ns", name: "w-1" };
    expect(trouble(pod(false, [waits("ContainerCreating", "")], { phase: "Pending" }))).toMatchObject({
      reason: "ContainerCreating",
      message: "the containers of pod w-1 are still not created on node a",
      eventQuery,
    });
    // Where there are init containers, all wait for them, and the first one for the sandbox.
    const initializing = waits("PodInitializing", "");
    const withInit = { phase: "Pending", initContainerStatuses: [initializing] };
    expect(trouble(pod(false, [initializing], withInit))).toMatchObject({ reason: "ContainerCreating", eventQuery });
    const state = { running: { startedAt: ago(400) } };
    expect(trouble(pod(false, [{ name: "c", restartCount: 0, state }]))).toMatchObject({
      reason: "ContainersNotReady",
      message: "pod w-1 runs and is not ready: the kubelet does not say why",
      eventQuery,
    });
  });

  it("is none of a pod that is not to run any more", () => {
    const stuck = pod(false, [waits("ImagePullBackOff", "")]);
    expect(trouble({ ...stuck, metadata: { ...stuck.metadata, deletionTimestamp: ago(1) } })).toBeUndefined();
    expect(trouble(pod(false, [waits("ImagePullBackOff", "")], { phase: "Failed" }))).toBeUndefined();
  });
});
