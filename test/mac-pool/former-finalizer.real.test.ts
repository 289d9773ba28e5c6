import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FORMER_FINALIZER } from "../../src/api/names.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { MANAGER_ACCOUNT } from "../../src/operator/components/kube-mac-pool-access.ts";
import { eventually } from "../support/eventually.ts";
import { machine } from "./machines.ts";
import { POOL_NAMESPACE, PoolFixture } from "./pool-fixture.ts";

const HOLD = "example.com/hold";

describe("VMs with the finalizer of KubeMacPool before 0.30", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    for (const name of ["going", "staying", "held"]) {
      const vm = machine(name, "default", []);
      const finalizers = [FORMER_FINALIZER, ...(name === "held" ? [HOLD] : [])];
      await fixture.admin.create(KINDS.virtualMachines, { ...vm, metadata: { ...vm.metadata, finalizers } });
    }
    await fixture.admin.delete(KINDS.virtualMachines, ref("going"));
    await fixture.startReplica("one");
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const ref = (name: string) => ({ name, namespace: "default" });
  const finalizersOf = async (name: string): Promise<readonly string[] | undefined> => {
    const { items } = await fixture.admin.list(KINDS.virtualMachines, { fieldSelector: `metadata.name=${name}` });
    return items[0]?.metadata.finalizers;
  };
  const asPool = async (name: string, body: object): Promise<string> => {
    const path = `/apis/kubevirt.io/v1/namespaces/default/virtualmachines/${name}`;
    const account = `system:serviceaccount:${POOL_NAMESPACE}:${MANAGER_ACCOUNT}`;
    const headers = { "Impersonate-User": account, "content-type": "application/merge-patch+json" };
    const answer = await fixture.admin.raw("PATCH", path, { body, headers });
    return (answer.body as { message?: string }).message ?? "changed";
  };
  const REFUSAL = "may only take the finalizer";

  it("lose it when they are being deleted, and keep any other", async () => {
    await eventually("the VM that was deleted before is gone", async () => (await finalizersOf("going")) === undefined);
    await fixture.admin.delete(KINDS.virtualMachines, ref("held"));
    await eventually("the other finalizer is left", async () => (await finalizersOf("held"))?.join() === HOLD);
  });

  it("keep it otherwise, and the account of the pool can't take it off", async () => {
    expect(await finalizersOf("staying")).toEqual([FORMER_FINALIZER]);
    expect(await asPool("staying", { metadata: { finalizers: null } })).toContain(REFUSAL);
  });

  it("can't be changed otherwise by the account of the pool", async () => {
    const bodies: readonly object[] = [
      { metadata: { finalizers: null } },
      { metadata: { labels: { app: "other" } } },
      { metadata: { annotations: { note: "other" } } },
      { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "a", uid: "1" }] } },
      { spec: { runStrategy: "Always" } },
    ];
    for (const body of bodies) expect(await asPool("held", body)).toContain(REFUSAL);
    expect(await finalizersOf("held")).toEqual([HOLD]);
  });
});
