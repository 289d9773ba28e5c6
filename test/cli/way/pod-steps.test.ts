import { describe, expect, it } from "vitest";
import type { WayFacts } from "../../../src/cli/way/facts.ts";
import { attached, scheduled } from "../../../src/cli/way/pod-steps.ts";
import { ATTACHMENT, HIDDEN, MAC, NIC, podWith, WORKING } from "./working-way.ts";

const NO_BRIDGE = "Insufficient bridge.network.kubevirt.io/br9";

function unscheduled(message?: string): WayFacts {
  const conditions = message === undefined ? [] : [{ type: "PodScheduled", status: "False", message }];
  return { ...WORKING, pod: { value: podWith({ phase: "Pending", conditions }, {}) } };
}

describe("the step scheduled", () => {
  it.each([
    [`0/3 nodes are available: 3 ${NO_BRIDGE}. preemption: 0/3 nodes are available.`, "0/3 nodes have bridge br9"],
    [
      `0/3 nodes are available: 1 node(s) were unschedulable, 2 ${NO_BRIDGE}.`,
      `2 of 3 nodes do not have bridge br9; the scheduler says: 0/3 nodes are available: 1 node(s) were unschedulable, 2 ${NO_BRIDGE}.`,
    ],
    [
      "0/3 nodes are available: 3 Insufficient cpu.",
      "the scheduler says: 0/3 nodes are available: 3 Insufficient cpu.",
    ],
    [`${"x".repeat(400)}\n`, `the scheduler says: ${"x".repeat(297)}...`],
  ])("translates %j", (message, text) => {
    expect(scheduled(unscheduled(message))).toMatchObject({ state: "wrong", text, remedy: expect.any(String) });
  });

  it("names a command that can be pasted where some nodes have the bridge", () => {
    const { remedy } = scheduled(unscheduled(`0/3 nodes are available: 1 node(s) were unschedulable, 2 ${NO_BRIDGE}.`));
    expect(remedy).toMatch(
      /Or look why a node that has it takes no pod: kubectl describe pod launcher -n lab shows more\.$/,
    );
  });

  it("says that the scheduler has not come to the pod, that it has ended, or that nobody sees it", () => {
    expect(scheduled(unscheduled())).toMatchObject({ state: "unknown", text: "pod launcher is not scheduled yet" });
    const ended = { ...WORKING, pod: { value: podWith({ phase: "Failed" }) } };
    expect(scheduled(ended)).toMatchObject({ state: "unknown", text: "pod launcher has ended" });
    expect(scheduled({ ...WORKING, pod: HIDDEN })).toMatchObject({ state: "ok", text: "pod launcher on node-a" });
    expect(scheduled({ ...WORKING, pod: HIDDEN, history: HIDDEN })).toMatchObject({
      state: "unknown",
      text: `its pod is ${HIDDEN.unknown}`,
    });
  });

  it("repeats why KubeVirt can't start the VM", () => {
    const none = { ...WORKING, pod: { value: undefined } };
    const machineWith = (type: string, status: string) => ({
      value: { metadata: {}, status: { conditions: [{ type, status, message: "admission webhook said\nno" }] } },
    });
    const text = "KubeVirt can't start it: admission webhook said no";
    const failed = { ...none, instance: { value: undefined }, machine: machineWith("Failure", "True") };
    expect(scheduled(failed)).toMatchObject({
      state: "wrong",
      text,
      remedy: "kubectl describe vm web -n lab shows more.",
    });
    const unsynchronized = { ...none, instance: machineWith("Synchronized", "False") };
    expect(scheduled(unsynchronized)).toMatchObject({
      state: "wrong",
      text,
      remedy: "kubectl describe vmi web -n lab shows more.",
    });
    expect(scheduled(none)).toMatchObject({ state: "unknown", text: "KubeVirt has not made its pod yet" });
    expect(scheduled({ ...none, instance: HIDDEN })).toMatchObject({
      state: "unknown",
      text: `its VMI is ${HIDDEN.unknown}`,
    });
  });
});

describe("the step attached", () => {
  const withStatus = (attachments: unknown, phase = "Running"): WayFacts => ({
    ...WORKING,
    pod: { value: podWith({ phase }, undefined, attachments) },
  });

  it("tells two attachments to one network apart by their addresses", () => {
    const other = { ...ATTACHMENT, interface: "podffff", mac: "02:00:00:00:00:01" };
    expect(attached(withStatus([other, ATTACHMENT]), NIC)).toMatchObject({
      state: "ok",
      text: `as pod1b2c with ${MAC}`,
    });
  });

  it.each([
    [withStatus([{ ...ATTACHMENT, mac: "02:00:00:00:00:01" }]), `as pod1b2c with 02:00:00:00:00:01, not with ${MAC}`],
    [withStatus([{ name: "lab/green" }]), "launcher runs, but its network-status has no lab/blue"],
    [withStatus({}), "launcher runs, but its network-status can't be read"],
    [withStatus(undefined), "launcher runs, but multus attached nothing to it"],
  ])("finds what is wrong with a running pod: %#", (facts, text) => {
    expect(attached(facts, NIC)).toMatchObject({ state: "wrong", text, remedy: expect.any(String) });
  });

  const failing = (...value: string[]): WayFacts => ({
    ...withStatus(undefined, "Pending"),
    sandboxErrors: { value },
  });
  const SANDBOX =
    'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "9f3c": ';
  const SAID = 'error adding container to network "blue": bridge br1 does not exist';

  it.each([
    `${SANDBOX}plugin type="multus" name="multus-cni-network" failed (add): [lab/launcher/4b0c:blue]: ${SAID}`,
    `${SANDBOX}plugin type="multus-shim" name="multus-cni-network" failed (add): CmdAdd (shim): CNI request failed with status 400: 'ContainerID:"9f3c" ERRORED: error configuring pod [lab/launcher] networking: [lab/launcher/4b0c:blue]: ${SAID}`,
    `${SANDBOX}plugin type="bridge" failed (add): ${SAID}`,
    `${SANDBOX}${SAID}`,
    SAID,
  ])("repeats the plugin's words of the newest error: %#", (message) => {
    expect(attached(failing(message, "an older one"), NIC)).toMatchObject({ state: "wrong", text: SAID });
  });

  it("says what to do with commands that name the namespace", () => {
    const remedyFor = (kind: WayFacts["owner"]["kind"], attachments: unknown): string | undefined => {
      const owner = { kind, namespace: "lab", name: "web" };
      return attached({ ...withStatus(attachments), owner }, NIC).remedy;
    };
    const again = "A pod gets what it asks for when it starts: ";
    expect(remedyFor("VirtualMachine", [])).toBe(`${again}virtctl restart web -n lab`);
    expect(remedyFor("VirtualMachineInstance", [])).toBe(`${again}kubectl delete vmi web -n lab, and make it again.`);
    expect(remedyFor("Pod", [])).toBe(`${again}kubectl delete pod web -n lab, and make it again.`);
    expect(remedyFor("VirtualMachine", undefined)).toBe(
      "Look whether multus runs there: kubectl get pods -A --field-selector spec.nodeName=node-a | grep multus. " +
        `${again}virtctl restart web -n lab`,
    );
    expect(attached(failing(SAID), NIC).remedy).toBe("kubectl describe pod launcher -n lab shows each attempt.");
    expect(scheduled(unscheduled("no room")).remedy).toBe("kubectl describe pod launcher -n lab shows more");
  });

  it("keeps a long error short and in one line", () => {
    const { text } = attached(failing(`a\n  b ${"x".repeat(1_000)}`), NIC);
    expect(text).toMatch(/^a b x{293}\.\.\.$/);
  });

  it("says that nothing has happened yet, or that events are not visible", () => {
    expect(attached(failing(), NIC)).toMatchObject({
      state: "unknown",
      text: "not yet, and the runtime has reported no error",
    });
    const hidden = { ...failing(), sandboxErrors: HIDDEN };
    expect(attached(hidden, NIC)).toMatchObject({ state: "unknown", text: `not yet; events are ${HIDDEN.unknown}` });
  });
});
