import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { kubevirtCrds } from "../cluster/kubevirt/crds.ts";
import { eventually } from "../support/eventually.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolBed } from "./pool-bed.ts";

describe("the order in which things are installed", () => {
  let bed: PoolBed;

  beforeAll(async () => {
    bed = await PoolBed.start({ kubevirt: false });
  });
  afterAll(async () => {
    await bed?.[Symbol.asyncDispose]();
  });

  it("is free: the pool is ready before KubeVirt is there, and adopts the addresses of VMs that came before the pool", async () => {
    await bed.startReplica("one");
    for (const crd of kubevirtCrds()) await bed.admin.create(RESOURCES.crds, crd as never);
    await eventually("VMs can be created", async () => {
      const vm = machine("early", "default", [{ name: "a", macAddress: "02:00:00:00:00:01" }, { name: "b" }]);
      return bed.admin.create(KINDS.virtualMachines, vm).then(
        () => true,
        () => false,
      );
    });
    await bed.admin.create(
      KINDS.virtualMachines,
      machine("twin", "default", [{ name: "a", macAddress: "02-00-00-00-00-01" }]),
    );
    await bed.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] });
    await eventually("both owners of the address are known", async () => {
      const claim = await bed.claim("02:00:00:00:00:01");
      return (
        claim?.status?.owners
          .map(({ name }) => name)
          .toSorted()
          .join() === "early,twin"
      );
    });
    await eventually("the conflict is counted", async () => {
      return (await bed.admin.get(KINDS.pools, { name: "default" })).status?.conflicts === 1;
    });

    await bed.registerWebhooks();
    const refused = bed.admin.create(
      KINDS.virtualMachines,
      machine("late", "default", [{ name: "a", macAddress: "02:00:00:00:00:01" }]),
    );
    await expect(refused).rejects.toThrow(
      /in use by VirtualMachine default\/(early \(a\) and .*twin|twin \(a\) and .*early)/,
    );
    const early = await bed.admin.get(KINDS.virtualMachines, { name: "early", namespace: "default" });
    const started = { ...early, spec: { ...(early.spec as object), runStrategy: "Always" } };
    const repaired = await bed.admin.update(KINDS.virtualMachines, started);
    expect(macsOf(repaired)[0]).toBe("02:00:00:00:00:01");
    expect(macsOf(repaired)[1]).toMatch(/^02:5d:1c:00:00:/);
  });
});
