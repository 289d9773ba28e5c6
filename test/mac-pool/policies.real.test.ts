import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONFLICT_POLICIES } from "../../src/api/mac-pool.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { instanceOf, machine } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

describe("pools with different policies, on a real API server", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.startReplica("one");
    for (const [number, policy] of CONFLICT_POLICIES.entries()) {
      const name = policy.toLowerCase();
      await fixture.admin.create(RESOURCES.namespaces, { metadata: { name, labels: { pool: name } } });
      await fixture.createPool(name, {
        ranges: [{ start: `02:5d:1c:0${number}:00:00`, end: `02:5d:1c:0${number}:00:ff` }],
        namespaceSelector: { matchLabels: { pool: name } },
        conflictPolicy: policy,
      });
    }
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const create = (name: string, namespace: string, macAddress: string): Promise<KubeObject> =>
    fixture.admin.create(KINDS.virtualMachines, machine(name, namespace, [{ name: "a", macAddress }]));

  it("keep the address of a pool that denies sharing from a namespace whose pool only warns", async () => {
    const mac = "02:5d:1c:00:00:01";
    await create("holder", "deny", mac);
    await expect(create("thief", "warn", mac)).rejects.toThrow("is in use by VirtualMachine deny/holder (a)");
  });

  it("keep a VM from running beside a holder whose pool lets only one run", async () => {
    const mac = "02:5d:1c:02:00:01";
    const holder = await create("holder", "denyrunning", mac);
    await fixture.admin.create(KINDS.instances, instanceOf(holder));
    const other = await create("other", "warn", mac);
    // The replica may not know the second owner yet, and what it does not know it lets start.
    const refusals: string[] = [];
    await eventually("the start is refused", async () => {
      const error = await fixture.admin
        .create(KINDS.instances, instanceOf(other), { dryRun: true })
        .catch((reason: Error) => reason.message);
      if (typeof error === "string") refusals.push(error);
      return refusals.length > 0;
    });
    expect(refusals.join()).toContain("VirtualMachine warn/other can't start: VirtualMachine denyrunning/holder has");
  });
});
