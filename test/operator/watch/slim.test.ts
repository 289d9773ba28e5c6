import { describe, expect, it } from "vitest";
import type { Node, Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { renderEverything } from "../../../src/operator/components/registry.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { rollout } from "../../../src/operator/status/rollout.ts";
import { selectorLabels, slimNode, slimPod } from "../../../src/operator/watch/slim.ts";

const objects = renderEverything(DEFAULT_SETTINGS);
const workload = objects.find(({ kind }) => kind === "DaemonSet") as KubeObject & { readonly spec: Template };
const SINCE = "2026-01-01T00:00:00Z";

interface Template {
  readonly template: { readonly metadata: { readonly labels: object }; readonly spec: object };
}

/** As the API server sends a pod of the workload that can't start. */
const pod = {
  metadata: {
    ...{ name: "p", namespace: "ns", uid: "u", resourceVersion: "7", creationTimestamp: SINCE },
    labels: { ...workload.spec.template.metadata.labels, "controller-revision-hash": "5d4f8c7b9" },
  },
  spec: { nodeName: "a", ...workload.spec.template.spec },
  status: {
    phase: "Pending",
    conditions: [
      { type: "Initialized", status: "True", lastTransitionTime: SINCE },
      { type: "Ready", status: "False", lastTransitionTime: SINCE },
    ],
    containerStatuses: [
      {
        name: "c",
        image: "i",
        imageID: "",
        ready: false,
        state: { waiting: { reason: "ErrImagePull", message: "m" } },
      },
      { name: "d", image: "i", imageID: "", ready: true, state: { running: { startedAt: SINCE } } },
    ],
  },
} as unknown as Pod;
const node = {
  metadata: { name: "a", uid: "n", resourceVersion: "8", labels: { zone: "z" } },
  status: {
    conditions: [
      { type: "MemoryPressure", status: "False" },
      { type: "Ready", status: "True" },
    ],
    images: Array.from({ length: 50 }, (_, i) => ({ names: [`registry.example.com/image-${i}`], sizeBytes: 1 })),
  },
} as unknown as Node;

/** The same pod in other trouble. */
function withStatus(status: object): Pod {
  return { ...pod, status: { ...pod.status, containerStatuses: [], ...status } } as unknown as Pod;
}

const running = { name: "c", ready: false, restartCount: 0, state: { running: { startedAt: SINCE } } };
const ended = { exitCode: 1, startedAt: SINCE, finishedAt: SINCE };
const waiting = { waiting: { reason: "CrashLoopBackOff" } };
const CRASHED = withStatus({
  phase: "Running",
  containerStatuses: [{ ...running, restartCount: 3, state: waiting, lastState: { terminated: ended } }],
});
const UNREADY = withStatus({ phase: "Running", containerStatuses: [running] });
const UNSCHEDULED = withStatus({
  conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", lastTransitionTime: SINCE }],
});

const slim = (one: Pod): Pod => slimPod(one, selectorLabels(objects));

describe("what the operator keeps", () => {
  it("of pods and nodes tells of a rollout what the whole objects tell", () => {
    const nowMs = Date.parse(SINCE) + 3_600_000;
    const live = { ...workload, status: { desiredNumberScheduled: 1, numberUnavailable: 1 } };
    const around = { nowMs, deadlineMs: 1_000, firstSeenMs: () => nowMs };
    const rollouts = (one: Pod) => ({
      whole: rollout(workload, live, { nodes: [node], pods: [one], ...around }),
      kept: rollout(workload, live, { nodes: [slimNode(node, new Set())], pods: [slim(one)], ...around }),
    });
    const reasons = [pod, CRASHED, UNREADY, UNSCHEDULED].map((one) => {
      const { whole, kept } = rollouts(one);
      expect(kept).toEqual(whole);
      return "reason" in whole ? whole.reason : whole.phase;
    });
    expect(reasons).toEqual(["ImagePullBackOff", "CrashLoopBackOff", "ContainersNotReady", "Unschedulable"]);
  });

  it("of a pod is little more than what the workloads select by", () => {
    expect(slim(pod)).toEqual({
      metadata: {
        ...{ name: "p", namespace: "ns", uid: "u", resourceVersion: "7", creationTimestamp: SINCE },
        labels: { app: "cni-plugins", name: "kube-cni-linux-bridge-plugin" },
      },
      spec: { nodeName: "a" },
      status: {
        phase: "Pending",
        conditions: [{ type: "Ready", status: "False", lastTransitionTime: SINCE }],
        initContainerStatuses: [],
        containerStatuses: [{ name: "c", state: { waiting: { reason: "ErrImagePull", message: "m" } } }],
      },
    });
  });
});
