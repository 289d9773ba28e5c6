import { describe, expect, it } from "vitest";
import type { NetworkAddonsConfigStatus } from "../../../src/api/network-addons-config.ts";
import type { ComponentOutcome, Outcome, Reconciled } from "../../../src/operator/status/outcome.ts";
import type { Rollout } from "../../../src/operator/status/rollout.ts";
import { announcements, componentsInTrouble, isSameStatus, nextStatus } from "../../../src/operator/status/status.ts";

const T0 = Date.parse("2026-01-01T00:00:00Z");

function reconciled(components: readonly ComponentOutcome[], removalFailures: readonly string[] = []): Outcome {
  return { kind: "reconciled", components, removalFailures, distributions: [], workloads: [] };
}

function deployed(...workloads: readonly Rollout[]): ComponentOutcome {
  return { name: "linuxBridge", state: { kind: "deployed", workloads } };
}

const READY = deployed({ phase: "ready" });
const ROLLING = deployed({ phase: "rolling", message: "one" }, { phase: "rolling", message: "two" });
const FAILED: ComponentOutcome = {
  name: "kubeMacPool",
  state: { kind: "failed", reason: "FailedToApply", message: "forbidden" },
};
const REFUSED: Outcome = { kind: "refused", reason: "FailedToValidate", message: "wrong" };

function next(outcome: Outcome, previous?: NetworkAddonsConfigStatus, nowMs = T0, generation = 1) {
  return nextStatus({ outcome, previous, generation, version: "1.2.3", nowMs });
}

function brief(status: NetworkAddonsConfigStatus): Record<string, (string | undefined)[]> {
  return Object.fromEntries(
    (status.conditions ?? []).map(({ type, status: value, reason, message }) => [type, [value, reason, message]]),
  );
}

describe("the status", () => {
  it("is available when every workload is, and says which version that is", () => {
    const status = next(reconciled([READY]));
    expect(brief(status)).toEqual({
      Available: ["True", undefined, undefined],
      Progressing: ["False", undefined, undefined],
      Degraded: ["False", undefined, undefined],
    });
    expect(status).toMatchObject({ operatorVersion: "1.2.3", targetVersion: "1.2.3", observedVersion: "1.2.3" });
    expect(status.components).toEqual([{ name: "linuxBridge", phase: "Available" }]);
  });

  it("says what the nodes are, and what each component mounts of them, until that is known anew", () => {
    const noted = deployed({ phase: "ready", note: "node-t (Talos) needs /opt/cni/bin" });
    const rows: ComponentOutcome[] = [{ ...noted, hostPaths: ["/var/lib/rancher/k3s/data/cni"] }];
    const outcome = { ...(reconciled(rows) as Reconciled), distributions: ["k3s", "Talos"] };
    const status = next(outcome);
    expect(status.distributions).toEqual(["k3s", "Talos"]);
    const message = "node-t (Talos) needs /opt/cni/bin";
    expect(status.components).toEqual([
      { name: "linuxBridge", phase: "Available", message, hostPaths: ["/var/lib/rancher/k3s/data/cni"] },
    ]);
    expect(brief(status).Available).toEqual(["True", undefined, message]);
    expect(next(REFUSED, status).distributions).toEqual(["k3s", "Talos"]);
    expect(isSameStatus(status, { ...status, distributions: ["k3s"] })).toBe(false);
    expect(isSameStatus(status, { ...status, components: next(reconciled([noted])).components ?? [] })).toBe(false);
  });

  it("is available at once when nothing is asked for", () => {
    expect(brief(next(reconciled([]))).Available?.[0]).toBe("True");
  });

  it("says what nodes need also while a component is rolling out", () => {
    const note = "node-t (Talos) needs /opt/cni/bin";
    const status = next(reconciled([deployed({ phase: "rolling", message: "one" }, { phase: "ready", note }), READY]));
    expect(brief(status).Progressing).toEqual(["True", "Deploying", `one\n${note}`]);
    expect(status.components?.[0]).toMatchObject({ phase: "Progressing", message: `one\n${note}` });
  });

  it("names every workload that is rolling out, one a line", () => {
    const status = next(reconciled([ROLLING]));
    expect(brief(status)).toEqual({
      Available: ["False", "Startup", "Configuration is in process"],
      Progressing: ["True", "Deploying", "one\ntwo"],
      Degraded: ["False", undefined, undefined],
    });
    expect(status).not.toHaveProperty("observedVersion");
  });

  it("asks for a human when the configuration is refused, and keeps what it said about what runs", () => {
    const before = next(reconciled([READY]));
    const status = next(REFUSED, before);
    expect(brief(status)).toEqual({
      Available: ["False", "Failing", "Unable to apply desired configuration"],
      Progressing: [
        "False",
        "InvalidConfiguration",
        "Human interaction is needed, please fix the desired configuration",
      ],
      Degraded: ["True", "FailedToValidate", "wrong"],
    });
    expect(status.observedVersion).toBe("1.2.3");
    expect(status.components).toEqual(before.components);
  });

  it("tells what runs on while another configuration is refused", () => {
    const running = reconciled([ROLLING]) as Reconciled;
    const status = next({ kind: "refused", reason: "FailedToValidate", message: "wrong", running });
    expect(brief(status).Degraded).toEqual(["True", "FailedToValidate", "wrong"]);
    expect(status.components?.[0]).toMatchObject({ phase: "Progressing", message: "one\ntwo" });
  });

  it("says what the removal waits for, or what is in its way", () => {
    const waiting = new Map([["linuxBridge", "3 pods are still stopping"]]);
    const status = next({ kind: "removing", waiting, failures: [] });
    expect(brief(status)).toEqual({
      Available: ["False", "Removing", "The configuration is being deleted"],
      Progressing: ["True", "Removing", "linuxBridge: 3 pods are still stopping"],
      Degraded: ["False", undefined, undefined],
    });
    const stuck = next({ kind: "removing", waiting, failures: ["one", "two"] });
    expect(brief(stuck).Degraded).toEqual(["True", "FailedToDeleteObjects", "one\ntwo"]);
  });

  it("is degraded by pods that will not start", () => {
    const failing = deployed({ phase: "failing", reason: "ImagePullBackOff", message: "no image", advice: "Check it" });
    const status = next(reconciled([failing]));
    expect(brief(status)).toMatchObject({
      Available: ["False", "Failing", "Some problems occurred while deploying components' pods"],
      Degraded: ["True", "ImagePullBackOff", "no image. Check it"],
    });
    expect(status.components?.[0]).toMatchObject({ phase: "Degraded", reason: "ImagePullBackOff" });
  });

  it("tells a new process the pods of which components can't run, and nothing else", () => {
    const failing = deployed({ phase: "failing", reason: "Unschedulable", message: "no node", advice: "Add one" });
    const inTrouble = (outcome: Outcome) => [...componentsInTrouble(next(outcome))];
    expect(inTrouble(reconciled([failing, { ...READY, name: "kubeMacPool" }]))).toEqual(["linuxBridge"]);
    expect(inTrouble(reconciled([ROLLING]))).toEqual([]);
    expect(inTrouble(reconciled([FAILED]))).toEqual([]);
    expect(inTrouble(REFUSED)).toEqual([]);
    expect(componentsInTrouble(undefined).size).toBe(0);
  });

  it("tells one component's failure from the others", () => {
    const status = next(reconciled([READY, FAILED]));
    expect(brief(status).Degraded).toEqual(["True", "FailedToApply", "kubeMacPool: forbidden"]);
    expect(status.components?.map(({ phase }) => phase)).toEqual(["Available", "Degraded"]);
  });

  it("says when something cannot be removed", () => {
    expect(brief(next(reconciled([READY], ["stuck"]))).Degraded).toEqual(["True", "FailedToDeleteObjects", "stuck"]);
  });

  it("names the product that a component waits for", () => {
    const message = "it needs cert-manager";
    const state = { kind: "failed", reason: "MissingPrerequisite", message } as const;
    const status = next(reconciled([READY, { name: "kubevirtIpamController", state }]));
    expect(brief(status).Degraded).toEqual(["True", "MissingPrerequisite", `kubevirtIpamController: ${message}`]);
    expect(status.components?.map(({ phase }) => phase)).toEqual(["Available", "Degraded"]);
  });

  it("names what a component waits for and then the pods of others that can't run, and goes on to show progress", () => {
    const waiting = (reason: "MissingPrerequisite" | "FailedToApply"): ComponentOutcome => ({
      name: "kubevirtIpamController",
      state: { kind: "failed", reason, message: "it needs cert-manager" },
    });
    const failing = deployed({ phase: "failing", reason: "ImagePullBackOff", message: "no image", advice: "Check it" });
    const texts = "kubevirtIpamController: it needs cert-manager\nno image. Check it";
    const HELP = ["False", "InvalidConfiguration", "Human interaction is needed, please fix the desired configuration"];
    const { Degraded, Progressing, Available } = brief(
      next(reconciled([failing, waiting("MissingPrerequisite"), ROLLING])),
    );
    expect(Degraded).toEqual(["True", "MissingPrerequisite", texts]);
    expect(Progressing?.slice(0, 2)).toEqual(["True", "Deploying"]);
    expect(Available?.slice(0, 2)).toEqual(["False", "Failing"]);
    expect(brief(next(reconciled([failing, waiting("MissingPrerequisite")]))).Progressing).toEqual(HELP);
    const refused = brief(next(reconciled([ROLLING, failing, waiting("FailedToApply")])));
    expect(refused).toMatchObject({ Degraded: ["True", "FailedToApply", texts], Progressing: HELP });
  });

  it("keeps the time of a transition, and a heartbeat alone is no change", () => {
    const first = next(reconciled([READY]));
    const later = next(reconciled([READY]), first, T0 + 60_000);
    expect(later.conditions?.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(
      Array(3).fill("2026-01-01T00:00:00Z"),
    );
    expect(isSameStatus(first, later)).toBe(true);
    expect(isSameStatus(undefined, later)).toBe(false);
    expect(isSameStatus(first, next(reconciled([ROLLING]), first, T0))).toBe(false);
  });

  it("announces a transition once", () => {
    const rolling = next(reconciled([ROLLING]));
    const available = next(reconciled([READY]), rolling);
    const refused = next(REFUSED, available, T0, 2);
    const reasons = (...pair: Parameters<typeof announcements>) => announcements(...pair).map(({ reason }) => reason);
    expect(reasons(undefined, rolling)).toEqual(["Progressing"]);
    expect(reasons(rolling, available)).toEqual(["Available"]);
    expect(reasons(available, available)).toEqual([]);
    expect(reasons(available, refused)).toEqual(["Modified", "Failed: FailedToValidate"]);
    expect(announcements(available, refused).at(-1)).toEqual({
      type: "Warning",
      reason: "Failed: FailedToValidate",
      message: "Operator failed: wrong",
    });
    expect(reasons(refused, next(REFUSED, refused, T0, 2))).toEqual([]);
  });
});
