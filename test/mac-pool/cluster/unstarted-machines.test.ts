import { describe, expect, it } from "vitest";
import { parseMac } from "../../../src/api/mac.ts";
import type { MACClaim } from "../../../src/api/mac-claim.ts";
import type { KubeObject } from "../../../src/kube/client/resource.ts";
import type { Informer } from "../../../src/kube/informer/informer.ts";
import { UnstartedMachines } from "../../../src/mac-pool/cluster/unstarted-machines.ts";
import { allocatedTo, owner } from "../claims/lifecycle-fixture.ts";
import { machine } from "../machines.ts";
import { FakeInformer } from "./fake-informer.ts";

const TEXT = "02:00:00:00:00:01";
const MAC = parseMac(TEXT) ?? (0 as never);

function vm(runStrategy: string, resourceVersion = "11", macAddress = TEXT): KubeObject {
  const { metadata, spec } = machine("web", "default", [{ name: "a", macAddress }]);
  return { metadata: { ...metadata, resourceVersion }, spec: { ...(spec as object), runStrategy } } as KubeObject;
}

function fixture() {
  const machines = new FakeInformer();
  const unstarted = new UnstartedMachines(machines as unknown as Informer<KubeObject>);
  const has = (resourceVersion = "10", generation = 1, more = {}): boolean => {
    const claim = allocatedTo(owner());
    const made = { ...claim, metadata: { ...claim.metadata, resourceVersion, generation } } as MACClaim;
    return unstarted.has(owner(more), made, MAC);
  };
  return { machines, has };
}

describe("a VM that never had an instance", () => {
  it("was created after its claim, and halted until it was gone", () => {
    const { machines, has } = fixture();
    machines.set(vm("Halted"));
    machines.set(vm("Halted", "12"));
    // Gone by a live read, it may have been started since.
    expect(has()).toBe(false);
    machines.delete("web");
    expect(has()).toBe(true);
  });

  it("is none that was started once, or listed, or is not known", () => {
    const { machines, has } = fixture();
    expect(has()).toBe(false);
    machines.set(vm("Halted"));
    machines.set(vm("Always", "12"));
    machines.set(vm("Halted", "13"));
    machines.delete("web");
    expect(has()).toBe(false);
    for (const strategy of ["Manual", "WaitAsReceiver"]) {
      const other = fixture();
      other.machines.set(vm(strategy));
      other.machines.delete("web");
      expect(other.has()).toBe(false);
    }
    const listed = fixture();
    listed.machines.set(vm("Halted"), false);
    listed.machines.delete("web");
    expect(listed.has()).toBe(false);
    const relisted = fixture();
    relisted.machines.set(vm("Halted"));
    relisted.machines.listed();
    relisted.machines.delete("web");
    expect(relisted.has()).toBe(false);
  });

  it("says nothing of the claims of one that had its name before, nor of other kinds", () => {
    const { machines, has } = fixture();
    machines.set(vm("Halted", "11", "02:00:00:00:00:02"));
    machines.delete("web");
    expect(has()).toBe(false);
    machines.set(vm("Halted"));
    machines.delete("web");
    expect([has("12"), has("10", 2), has("10", 1, { kind: "VirtualMachineInstance" })]).toEqual([false, false, false]);
  });
});
