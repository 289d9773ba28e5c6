import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLAIM_BREAK_GLASS } from "../../src/api/mac-claim.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { runCommand } from "../cluster/command.ts";
import { eventually } from "../support/eventually.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const IN_RANGE = /^02:5d:1c:00:/;

describe("virtual machines on a real API server, with two replicas", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await Promise.all([fixture.startReplica("one"), fixture.startReplica("two")]);
    await fixture.createPool("default", {
      ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }],
      quarantineSeconds: 1,
    });
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const create = (vm: KubeObject, dryRun = false): Promise<KubeObject> =>
    fixture.admin.create(KINDS.virtualMachines, vm, { dryRun });
  const refusal = async (vm: KubeObject): Promise<string> =>
    create(vm).then(
      () => "admitted",
      (error: Error) => error.message,
    );
  const remove = (name: string): Promise<void> =>
    fixture.admin.delete(KINDS.virtualMachines, { name, namespace: "default" });
  const stored = (name: string): Promise<KubeObject> =>
    fixture.admin.get(KINDS.virtualMachines, { name, namespace: "default" });
  const phaseOf = async (mac: string): Promise<string | undefined> => (await fixture.claim(mac))?.status?.phase;

  it("gives each interface of ours an address of the pool that is claimed before the VM exists", async () => {
    const vm = await create(
      machine("auto", "default", [
        { name: "a" },
        { name: "b", on: "pod" },
        { name: "c", on: "pod-bridge" },
        { name: "d", on: "claim" },
      ]),
    );
    const [a, b, c, d] = macsOf(vm);
    expect([a, b, d]).toEqual(Array(3).fill(expect.stringMatching(IN_RANGE)));
    expect(a).not.toBe(b);
    expect(c).toBeUndefined();
    const claim = await fixture.claim(a ?? "");
    expect(claim?.spec).toMatchObject({ mac: a, pool: "default", origin: "automatic" });
    expect(claim?.status?.owners).toMatchObject([
      { kind: "VirtualMachine", namespace: "default", name: "auto", interface: "a" },
    ]);
    expect((await fixture.claim(d ?? ""))?.status?.owners).toMatchObject([{ network: "resource claim nics/d" }]);
    expect([await phaseOf(a ?? ""), await phaseOf(d ?? "")]).toEqual(["Allocated", "Allocated"]);
  });

  it("refuses an address that another VM has, and says whose it is and what to do", async () => {
    await create(machine("first", "default", [{ name: "net1", macAddress: "02-5D-1C-00-00-A3" }]));
    await eventually("seen", async () => (await fixture.metrics("one")).includes('claims{phase="Pending"} 0'));
    expect(await refusal(machine("second", "default", [{ name: "nic", macAddress: "02:5d:1c:00:00:a3" }]))).toContain(
      'MAC 02:5d:1c:00:00:a3 of interface "nic" is in use by VirtualMachine default/first (net1). ' +
        "Leave macAddress out to get an address from the pool. To use this one, first remove it from the other VM.",
    );
  });

  it("refuses what no interface can have, and what is twice in one object", async () => {
    const refused = (...nics: Parameters<typeof machine>[2]): Promise<string> =>
      refusal(machine("bad", "default", nics));
    expect(await refused({ name: "a", macAddress: "02:5d:1c" })).toContain("invalid MAC address format");
    expect(await refused({ name: "a", macAddress: "01:00:5e:00:00:01" })).toContain("is a multicast address");
    expect(await refused({ name: "a", macAddress: "00:00:00:00:00:00" })).toContain("is the all-zero address");
    expect(
      await refused({ name: "a", macAddress: "02:00:00:00:00:01" }, { name: "b", macAddress: "0200.0000.0001" }),
    ).toContain("duplicate MAC address 02:00:00:00:00:01");
    expect(await refused({ name: "a" }, { name: "a" })).toContain("every interface must have a unique name");
    expect(await fixture.claim("02:00:00:00:00:01")).toBeUndefined();
  });

  it("gives back what it had claimed when one interface of the object is refused", async () => {
    await create(machine("holder", "default", [{ name: "a", macAddress: "02:00:00:00:0a:01" }]));
    const before = (await fixture.claims()).length;
    await refusal(
      machine("half", "default", [
        { name: "a", macAddress: "02:00:00:00:0a:02" },
        { name: "b", macAddress: "02:00:00:00:0a:01" },
        { name: "c" },
      ]),
    );
    expect((await fixture.claims()).length).toBe(before);
  });

  it("changes nothing on a dry run, and still refuses", async () => {
    const before = await fixture.claims();
    const vm = await create(machine("dry", "default", [{ name: "a" }]), true);
    expect(macsOf(vm)[0]).toMatch(IN_RANGE);
    expect((await fixture.claims()).length).toBe(before.length);
    const taken = create(machine("dry", "default", [{ name: "a", macAddress: "02:5d:1c:00:00:a3" }]), true);
    await expect(taken).rejects.toThrow("is in use by VirtualMachine default/first");
  });

  it("keeps the address when the original manifest is applied again", async () => {
    const vm = await create(machine("again", "default", [{ name: "a" }, { name: "b" }]));
    const applied = await fixture.admin.update(KINDS.virtualMachines, {
      ...machine("again", "default", [{ name: "b" }, { name: "a" }]),
      metadata: vm.metadata,
    });
    expect(macsOf(applied).toReversed()).toEqual(macsOf(vm));
  });

  it("leaves an address as it is written: kubectl apply of the same file changes nothing", async () => {
    const { kubectlPath, kubeconfig } = fixture.controlPlane;
    const apply = async (macAddress: string, name: string): Promise<string> => {
      const stdin = JSON.stringify(machine(name, "default", [{ name: "a", macAddress }], { app: name }));
      return (await runCommand([kubectlPath, "--kubeconfig", kubeconfig, "apply", "-f", "-"], { stdin })).stdout.trim();
    };
    const written = ["02-5D-1C-00-00-B4", "025D.1C00.00B5", "02:5D:1C:00:00:B6", "02:5d:1c:00:00:b7"];
    for (const [index, macAddress] of written.entries()) {
      const name = `notation-${index}`;
      expect(await apply(macAddress, name)).toBe(`virtualmachine.kubevirt.io/${name} created`);
      expect(macsOf(await stored(name))).toEqual([macAddress]);
      expect((await fixture.claim(`02:5d:1c:00:00:b${4 + index}`))?.spec.origin).toBe("explicit");
      expect(await apply(macAddress, name)).toBe(`virtualmachine.kubevirt.io/${name} unchanged`);
    }
    expect(await refusal(machine("twin", "default", [{ name: "a", macAddress: "02:5d:1c:00:00:b4" }]))).toContain(
      'MAC 02:5d:1c:00:00:b4 of interface "a" is in use by VirtualMachine default/notation-0 (a)',
    );
  });

  it("claims nothing for another notation of the same address, and rewrites digits alone, which virt-api refuses", async () => {
    const vm = await create(machine("notations", "default", [{ name: "a", macAddress: "02-5D-1C-00-00-B8" }]));
    const claimed = await fixture.claim("02:5d:1c:00:00:b8");
    for (const [macAddress, kept] of [
      ["025d.1c00.00b8", "025d.1c00.00b8"],
      ["02:5D:1C:00:00:B8", "02:5D:1C:00:00:B8"],
      ["025D1C0000B8", "02:5d:1c:00:00:b8"],
      [undefined, "02:5d:1c:00:00:b8"],
    ] as const) {
      const nic = macAddress === undefined ? { name: "a" } : { name: "a", macAddress };
      const { metadata } = await stored("notations");
      const again = { ...machine("notations", "default", [nic]), metadata };
      expect(macsOf(await fixture.admin.update(KINDS.virtualMachines, again))).toEqual([kept]);
    }
    expect((await fixture.claims()).filter(({ status }) => status?.owners[0]?.name === "notations")).toHaveLength(1);
    expect((await fixture.claim("02:5d:1c:00:00:b8"))?.metadata.uid).toBe(claimed?.metadata.uid);
    expect((await stored("notations")).metadata.uid).toBe(vm.metadata.uid);
  });

  it("frees a changed address after its rest and claims the new one", async () => {
    const vm = await create(machine("change", "default", [{ name: "a" }]));
    const old = macsOf(vm)[0] ?? "";
    await fixture.admin.update(KINDS.virtualMachines, {
      ...machine("change", "default", [{ name: "a", macAddress: "02:00:00:00:0b:01" }]),
      metadata: vm.metadata,
    });
    expect((await fixture.claim("02:00:00:00:0b:01"))?.status?.owners).toMatchObject([{ name: "change" }]);
    await eventually("the old address is free", async () => (await fixture.claim(old)) === undefined);
    expect(await phaseOf("02:00:00:00:0b:01")).toBe("Allocated");
  });

  it("lets the address of a deleted VM rest, then frees it", async () => {
    const vm = await create(machine("gone", "default", [{ name: "a" }]));
    const mac = macsOf(vm)[0] ?? "";
    await remove("gone");
    await eventually("resting", async () => (await phaseOf(mac)) === "Quarantined");
    await eventually("free", async () => (await fixture.claim(mac)) === undefined);
  });

  it("gives the address to a VM of the same name that takes the place of a deleted one", async () => {
    const mac = "02:00:00:00:0c:01";
    for (let round = 0; round < 5; round++) {
      await create(machine("phoenix", "default", [{ name: "a", macAddress: mac }]));
      expect((await fixture.claim(mac))?.status).toMatchObject({ phase: "Allocated", owners: [{ name: "phoenix" }] });
      if (round < 4) await remove("phoenix");
    }
    expect(await refusal(machine("thief", "default", [{ name: "a", macAddress: mac }]))).toContain("default/phoenix");
  });

  it("keeps the address of an unplugged interface until the VMI has let go of it", async () => {
    const mac = "02:00:00:00:0d:01";
    const vm = await create(machine("hot", "default", [{ name: "a", macAddress: mac }]));
    const owner = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name: "hot", uid: vm.metadata.uid ?? "" };
    const spec = (vm.spec as { template: { spec: object } }).template.spec;
    await fixture.admin.create(KINDS.instances, {
      metadata: { name: "hot", namespace: "default", ownerReferences: [owner] },
      spec,
    });
    await fixture.admin.update(KINDS.virtualMachines, {
      ...machine("hot", "default", [{ name: "b" }]),
      metadata: vm.metadata,
    });
    expect(await refusal(machine("early", "default", [{ name: "a", macAddress: mac }]))).toContain("default/hot");
    await fixture.admin.delete(KINDS.instances, { name: "hot", namespace: "default" });
    await eventually("free", async () => (await fixture.claim(mac)) === undefined);
  });

  it("gives VMs that opt out no address, and claims what they have", async () => {
    const vm = await create(
      machine("own", "default", [{ name: "a" }, { name: "b", macAddress: "02:5d:1c:00:0e:01" }], {
        "mutatevirtualmachines.kubemacpool.io": "ignore",
      }),
    );
    expect(macsOf(vm)).toEqual([undefined, "02:5d:1c:00:0e:01"]);
    expect((await fixture.claim("02:5d:1c:00:0e:01"))?.spec.origin).toBe("explicit");
    expect(await refusal(machine("thief", "default", [{ name: "a", macAddress: "02:5d:1c:00:0e:01" }]))).toContain(
      "is in use by VirtualMachine default/own (b)",
    );
  });

  it("writes the pool's status and serves numbers about it", async () => {
    await eventually("the status agrees with the claims", async () => {
      const claims = (await fixture.claims()).filter((claim) => IN_RANGE.test(claim.spec.mac));
      const pool = await fixture.admin.get(KINDS.pools, { name: "default" });
      return pool.status?.used === claims.length && pool.status.free === 65_536 - claims.length;
    });
    const text = (await fixture.metrics("one")) + (await fixture.metrics("two"));
    expect(text).toContain('kubevirt_macpool_capacity{pool="default"} 65536');
    expect(text).toContain('kubevirt_macpool_admission_duration_seconds_count{webhook="mutate-virtualmachines"}');
  });

  it("lets nobody but the pool write a claim", async () => {
    const [claim] = await fixture.claims();
    const error = await fixture.admin
      .delete(KINDS.claims, { name: claim?.metadata.name ?? "" })
      .catch((refused: Error) => refused.message);
    expect(error).toContain("Only the MAC pool may change MACClaims");
  });

  it("claims an address again whose bound claim was deleted by break-glass", async () => {
    const vm = await create(machine("broken", "default", [{ name: "a" }]));
    const mac = macsOf(vm)[0] ?? "";
    const name = `mac-${mac.replaceAll(":", "-")}`;
    const annotations = { [CLAIM_BREAK_GLASS]: "true" };
    await fixture.admin.patch(KINDS.claims, { name }, { type: "merge", body: { metadata: { annotations } } });
    const uid = (await fixture.claim(mac))?.metadata.uid;
    await fixture.admin.delete(KINDS.claims, { name });
    await eventually("bound again", async () => {
      const claim = await fixture.claim(mac);
      return claim?.status?.phase === "Allocated" && claim.metadata.uid !== uid;
    });
    expect(await refusal(machine("sly", "default", [{ name: "a", macAddress: mac }]))).toContain("default/broken");
  });

  it("goes on with its ranges when the API server has refused wrong ones", async () => {
    const spec = { ranges: [{ start: "02:5d:1c:00:ff:ff", end: "02:5d:1c:00:00:00" }] };
    const patched = await fixture.admin
      .patch(KINDS.pools, { name: "default" }, { type: "merge", body: { spec } })
      .catch((error: Error) => error.message);
    expect(patched).toMatch(/[Rr]ange end/);
    await create(machine("as-before", "default", [{ name: "a" }]));
  });

  it("does not stand in the way of starting, stopping and deleting VMs when it is down", async () => {
    const nics = [{ name: "a" }, { name: "p", on: "pod-bridge" as const }];
    const vm = await create(machine("steady", "default", nics));
    await Promise.all(["one", "two"].map((name) => fixture.killReplica(name)));
    await expect(create(machine("new", "default", nics))).rejects.toThrow("failed calling webhook");
    const started = await fixture.admin.update(KINDS.virtualMachines, {
      ...vm,
      metadata: { ...vm.metadata, finalizers: ["example.com/hold"] },
      spec: { ...(vm.spec as object), runStrategy: "Always" },
    });
    expect(macsOf(started)).toEqual(macsOf(vm));
    await remove("steady");
    await fixture.admin.patch(
      KINDS.virtualMachines,
      { name: "steady", namespace: "default" },
      { type: "merge", body: { metadata: { finalizers: null } } },
    );
    await eventually("gone", async () => {
      const left = await fixture.admin.list(KINDS.virtualMachines, { fieldSelector: "metadata.name=steady" });
      return left.items.length === 0;
    });
  });
});
