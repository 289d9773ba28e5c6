import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { kubevirtCrds } from "../cluster/kubevirt/crds.ts";
import { eventually } from "../support/eventually.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

describe("the order in which things are installed", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start({ kubevirt: false });
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  it("is free: the pool is ready before KubeVirt is there, and adopts the addresses of VMs that came before the pool", async () => {
    await fixture.startReplica("one");
    for (const crd of kubevirtCrds()) await fixture.admin.create(RESOURCES.crds, crd as never);
    await eventually("VMs can be created", async () => {
      const vm = machine("early", "default", [{ name: "a", macAddress: "02:00:00:00:00:01" }, { name: "b" }]);
      return fixture.admin.create(KINDS.virtualMachines, vm).then(
        () => true,
        () => false,
      );
    });
    await fixture.admin.create(
      KINDS.virtualMachines,
      machine("twin", "default", [{ name: "a", macAddress: "02-00-00-00-00-01" }]),
    );
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }] });
    await eventually("both owners of the address are known", async () => {
      const claim = await fixture.claim("02:00:00:00:00:01");
      return (
        claim?.status?.owners
          .map(({ name }) => name)
          .toSorted()
          .join() === "early,twin"
      );
    });
    await eventually("the conflict is counted", async () => {
      return (await fixture.admin.get(KINDS.pools, { name: "default" })).status?.conflicts === 1;
    });

    await fixture.registerWebhooks();
    const refused = fixture.admin.create(
      KINDS.virtualMachines,
      machine("late", "default", [{ name: "a", macAddress: "02:00:00:00:00:01" }]),
    );
    await expect(refused).rejects.toThrow(
      /in use by VirtualMachine default\/(early \(a\) and .*twin|twin \(a\) and .*early)/,
    );
    const early = await fixture.admin.get(KINDS.virtualMachines, { name: "early", namespace: "default" });
    const started = { ...early, spec: { ...(early.spec as object), runStrategy: "Always" } };
    const repaired = await fixture.admin.update(KINDS.virtualMachines, started);
    expect(macsOf(repaired)[0]).toBe("02:00:00:00:00:01");
    expect(macsOf(repaired)[1]).toMatch(/^02:5d:1c:00:00:/);
  });
});
