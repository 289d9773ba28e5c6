import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { type Rollout, underLevel } from "../../../src/operator/status/rollout.ts";

function workload(pod: object): KubeObject {
  const metadata = { name: "w", namespace: "kubevirt-hyperconverged" };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata,
    spec: { template: { spec: { containers: [], ...pod } } },
  };
}

const ON_HOST = workload({ hostNetwork: true });
const MODEST = workload({});
const ROLLING: Rollout = { phase: "rolling", message: "is not available", recheckAfterMs: 7 };
const READY: Rollout = { phase: "ready" };
const COMMAND =
  "Run kubectl label namespace kubevirt-hyperconverged --overwrite pod-security.kubernetes.io/enforce=privileged";

describe("a namespace's level of Pod Security", () => {
  it.each(["baseline", "restricted", "nonsense"])(
    "%s keeps a workload of the node from coming up, at once",
    (level) => {
      expect(underLevel(ROLLING, ON_HOST, level)).toEqual({
        phase: "failing",
        reason: "FailedCreate",
        message: `DaemonSet "kubevirt-hyperconverged/w": namespace kubevirt-hyperconverged enforces the Pod Security level ${level}, which takes no pods that use their node`,
        advice: COMMAND,
        recheckAfterMs: 7,
      });
    },
  );

  it("is told where the pods run already: they can't be replaced", () => {
    const { note = "" } = underLevel(READY, ON_HOST, "restricted") as { note?: string };
    expect(note).toContain("those that run stay, and none can be replaced");
    expect(note).toContain(COMMAND);
    const lost: Rollout = { phase: "ready", note: "one node is lost" };
    expect(underLevel(lost, ON_HOST, "restricted")).toMatchObject({ note: `one node is lost\n${note}` });
  });

  it("changes nothing where it takes the pods, where it is not set, and for pods that need no node", () => {
    for (const rollout of [ROLLING, READY]) {
      expect(underLevel(rollout, ON_HOST, "privileged")).toBe(rollout);
      expect(underLevel(rollout, ON_HOST, undefined)).toBe(rollout);
      expect(underLevel(rollout, MODEST, "restricted")).toBe(rollout);
    }
  });

  it("leaves to a failing workload what it says itself", () => {
    const failing: Rollout = { phase: "failing", reason: "FailedCreate", message: "m", advice: "a" };
    expect(underLevel(failing, ON_HOST, "restricted")).toBe(failing);
  });
});
