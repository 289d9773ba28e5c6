import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WAIT_AS_RECEIVER } from "../../src/api/mac-pool-scope.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { PENDING_MS } from "../../src/mac-pool/claims/limits.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { instanceOf, machine } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const [SOURCE, TARGET] = ["source", "target"];

describe("a VM that waits to receive a live migration, on a real API server", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    for (const name of [SOURCE, TARGET]) await fixture.admin.create(RESOURCES.namespaces, { metadata: { name } });
    await fixture.startReplica("one");
    await fixture.createPool("default", { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] });
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const ref = (name: string, namespace: string) => ({ name, namespace });
  const start = (vm: KubeObject): Promise<KubeObject> => fixture.admin.create(KINDS.instances, instanceOf(vm));
  const setStrategy = (name: string, namespace: string, runStrategy: string): Promise<KubeObject> =>
    fixture.admin.patch(KINDS.virtualMachines, ref(name, namespace), {
      type: "merge",
      body: { spec: { runStrategy } },
    });
  const setStatus = (name: string, namespace: string, status: object): Promise<unknown> =>
    fixture.admin.patch(
      KINDS.instances,
      ref(name, namespace),
      { type: "merge", body: { status } },
      { subresource: "status" },
    );

  /** A VM, and the one that waits to receive it. */
  async function pair(name: string, mac: string): Promise<{ source: KubeObject; target: KubeObject }> {
    const nics = [{ name: "a", macAddress: mac }];
    const source = await fixture.admin.create(KINDS.virtualMachines, machine(name, SOURCE, nics));
    const bare = machine(name, TARGET, nics);
    const waiting = { ...bare, spec: { ...(bare.spec as object), runStrategy: WAIT_AS_RECEIVER } };
    return { source, target: await fixture.admin.create(KINDS.virtualMachines, waiting) };
  }

  it("is judged like a new one when it waits no longer: refused while another has the address, then admitted", async () => {
    const mac = "02:5d:1c:00:01:01";
    const { source, target } = await pair("cancelled", mac);
    await start(source);
    expect((await fixture.claim(mac))?.status?.owners).toMatchObject([{ namespace: SOURCE }, { receiver: true }]);
    for (const strategy of ["Always", "Manual", "Halted"]) {
      await expect(setStrategy("cancelled", TARGET, strategy)).rejects.toThrow(
        `MAC ${mac} of interface "a" is in use by VirtualMachine ${SOURCE}/cancelled (a)`,
      );
    }
    // The migration was cancelled: its target waits still, and must not run.
    await start(target);
    await setStatus("cancelled", TARGET, { phase: "WaitingForSync", migrationState: { failed: true } });
    await expect(setStrategy("cancelled", TARGET, "Always")).rejects.toThrow("is in use by");
    await fixture.admin.delete(KINDS.instances, ref("cancelled", SOURCE));
    await start(source);
    await fixture.admin.delete(KINDS.instances, ref("cancelled", SOURCE));
    await fixture.admin.delete(KINDS.virtualMachines, ref("cancelled", SOURCE));
    await eventually("it is admitted once the other is gone", () =>
      setStrategy("cancelled", TARGET, "Always").then(
        () => true,
        () => false,
      ),
    );
    // Where watches are behind, the former admissions may be under way for all that the replica knows.
    await eventually(
      "the claim has it as an owner like any other",
      async () => {
        const owners = (await fixture.claim(mac))?.status?.owners ?? [];
        return owners.length === 1 && owners[0]?.namespace === TARGET && owners[0].receiver === undefined;
      },
      { limitMs: PENDING_MS + 30_000 },
    );
  });

  it("is admitted after the migration, and the VM that it received does not start beside it", async () => {
    const mac = "02:5d:1c:00:01:02";
    const { source, target } = await pair("migrated", mac);
    await start(source);
    await start(target);
    await setStatus("migrated", TARGET, { phase: "Running", migrationState: { completed: true } });
    await fixture.admin.delete(KINDS.instances, ref("migrated", SOURCE));
    await setStrategy("migrated", TARGET, "Always");
    await expect(start(source)).rejects.toThrow(
      `VirtualMachine ${SOURCE}/migrated can't start: VirtualMachine ${TARGET}/migrated has the same MAC ${mac} and is running.`,
    );
    await fixture.admin.delete(KINDS.instances, ref("migrated", TARGET));
    await start(source);
    await expect(start(target)).rejects.toThrow("is running. Stop it first");
  });
});
