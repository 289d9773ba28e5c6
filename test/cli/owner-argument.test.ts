import { describe, expect, it } from "vitest";
import { namedOwner, ownersNamed } from "../../src/cli/owner-argument.ts";

describe("what names a VM, a VMI or a pod", () => {
  it.each([
    ["web", { name: "web" }],
    ["lab/web", { namespace: "lab", name: "web" }],
    ["vm/web", { kind: "VirtualMachine", name: "web" }],
    ["virtualmachine.kubevirt.io/web", { kind: "VirtualMachine", name: "web" }],
    ["VMI/web", { kind: "VirtualMachineInstance", name: "web" }],
    ["virtualmachineinstances/web", { kind: "VirtualMachineInstance", name: "web" }],
    ["pod/t4", { kind: "Pod", name: "t4" }],
    ["pods/lab/t4", { kind: "Pod", namespace: "lab", name: "t4" }],
    ["po/pod/t4", { kind: "Pod", namespace: "pod", name: "t4" }],
    ["constructor/web", { namespace: "constructor", name: "web" }],
  ])("is read as kubectl's users write it: %s", (text, named) => {
    expect(namedOwner(text)).toEqual(named);
  });

  it("stands for an object of each kind where it names none", () => {
    expect(ownersNamed({ name: "web" }, "lab").map(({ kind }) => kind)).toEqual([
      "VirtualMachine",
      "VirtualMachineInstance",
      "Pod",
    ]);
    expect(ownersNamed({ kind: "Pod", name: "t4" }, "lab")).toEqual([{ kind: "Pod", namespace: "lab", name: "t4" }]);
  });
});
