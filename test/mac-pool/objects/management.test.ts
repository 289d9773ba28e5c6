import { describe, expect, it } from "vitest";
import { POD_WEBHOOK, VM_WEBHOOK } from "../../../src/api/names.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { isManaged } from "../../../src/mac-pool/objects/management.ts";

const object = (labels: Record<string, string> = {}, namespace = "default"): KubeObject => ({
  metadata: { name: "web", namespace, labels },
});

describe("whether the pool manages an object", () => {
  it("is decided by its namespace: VMs unless opted out, pods where opted in", () => {
    expect(isManaged("VirtualMachine", object(), {}, [], () => true)).toBe(true);
    expect(isManaged("VirtualMachine", object(), { [VM_WEBHOOK]: "ignore" }, [], () => true)).toBe(false);
    expect(isManaged("Pod", object(), {}, [], () => true)).toBe(false);
    expect(isManaged("Pod", object(), { [POD_WEBHOOK]: "allocate" }, [], () => true)).toBe(true);
    expect(isManaged("VirtualMachine", object({}, "own"), {}, ["own"], () => true)).toBe(false);
    expect(isManaged("VirtualMachine", object(), { "openshift.io/run-level": "1" }, [], () => true)).toBe(false);
  });

  it("is no as long as its namespace is not known: a watch of another kind may be ahead", () => {
    expect(isManaged("VirtualMachine", object(), undefined, [], () => true)).toBe(false);
    expect(isManaged("Pod", object(), undefined, [], () => true)).toBe(false);
  });

  it("is decided by the object itself where it has opted out", () => {
    expect(isManaged("VirtualMachine", object({ [VM_WEBHOOK]: "ignore" }), {}, [], () => true)).toBe(false);
    expect(isManaged("Pod", object({ [POD_WEBHOOK]: "ignore" }), { [POD_WEBHOOK]: "allocate" }, [], () => true)).toBe(
      false,
    );
  });

  it("is not decided by the object itself where its namespace does not allow that", () => {
    expect(isManaged("VirtualMachine", object({ [VM_WEBHOOK]: "ignore" }), {}, [], () => false)).toBe(true);
    expect(isManaged("VirtualMachine", object(), { [VM_WEBHOOK]: "ignore" }, [], () => false)).toBe(false);
  });

  it("is, for the instance of a VM, decided by the VM too, whose labels it does not have", () => {
    const vm = object({ [VM_WEBHOOK]: "ignore" });
    expect(isManaged("VirtualMachineInstance", object(), {}, [], () => true, vm)).toBe(false);
    expect(isManaged("VirtualMachineInstance", object(), {}, [], () => true, object())).toBe(true);
  });
});
