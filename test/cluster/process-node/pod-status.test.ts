import type { ContainerState } from "kubernetes-types/core/v1.js";
import { describe, expect, it } from "vitest";
import { type PodFacts, podStatus } from "./pod-status.ts";

const container = (state: ContainerState, ready = false) => ({
  name: "c",
  image: "i",
  imageID: "",
  ready,
  restartCount: 0,
  state,
});
const running = { running: { startedAt: "2026-01-01T00:00:00Z" } };
const ended = (exitCode: number) => ({ terminated: { exitCode } });

const facts = (changes: Partial<PodFacts> & { restartPolicy?: string }): PodFacts => ({
  pod: { metadata: { name: "p" }, spec: { containers: [], restartPolicy: changes.restartPolicy ?? "Always" } },
  startTime: "2026-01-01T00:00:00Z",
  hostIp: "10.99.0.11",
  podIp: "10.77.1.2",
  initialized: true,
  stopping: false,
  containers: [],
  initContainers: [],
  previous: [],
  now: "2026-01-01T00:00:10Z",
  ...changes,
});

const readiness = (given: PodFacts) => podStatus(given).conditions?.find(({ type }) => type === "Ready");

describe("a pod's status", () => {
  it.each([
    ["Pending", { containers: [container({ waiting: { reason: "ContainerCreating" } })] }],
    ["Running", { containers: [container(running)] }],
    ["Running", { containers: [container(ended(1))] }],
    ["Succeeded", { containers: [container(ended(0))], restartPolicy: "Never" }],
    ["Failed", { containers: [container(ended(0)), container(ended(2))], restartPolicy: "OnFailure" }],
    ["Succeeded", { containers: [container(ended(0))], stopping: true }],
    ["Failed", { containers: [], initContainers: [container(ended(1))], restartPolicy: "Never" }],
  ])("has the phase %s", (phase, changes) => {
    expect(podStatus(facts(changes)).phase).toBe(phase);
  });

  it("is Ready when all containers are, and no longer once the pod is being stopped", () => {
    const containers = [container(running, true), container(running, true)];
    expect(readiness(facts({ containers }))?.status).toBe("True");
    expect(readiness(facts({ containers: [...containers, container(running)] }))?.status).toBe("False");
    expect(readiness(facts({ containers, stopping: true }))?.status).toBe("False");
  });

  it("keeps a condition's transition time while its status stays", () => {
    const before = "2026-01-01T00:00:05Z";
    const previous = [{ type: "Ready", status: "False", lastTransitionTime: before }];
    expect(readiness(facts({ previous, containers: [container(running)] }))?.lastTransitionTime).toBe(before);
    expect(readiness(facts({ previous, containers: [container(running, true)] }))?.lastTransitionTime).not.toBe(before);
  });
});
