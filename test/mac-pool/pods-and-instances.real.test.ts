import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MAC_POOL_CRD } from "../../src/api/crds.ts";
import type { MACPool } from "../../src/api/mac-pool.ts";
import { NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../src/api/names.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { readRequestCounts } from "../bench/request-counts.ts";
import { eventually } from "../support/eventually.ts";
import { guestSpec, machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const NAMESPACE = "pods";
const MAC = /^02:5d:1c:00:/;

describe("pods and instances without a VM on a real API server", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await fixture.startReplica("one");
    await fixture.createPool("default", {
      ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }],
      quarantineSeconds: 1,
    });
    await fixture.registerWebhooks();
    for (const name of [NAMESPACE, "unmanaged"]) {
      const labels = name === NAMESPACE ? { [POD_WEBHOOK]: "allocate" } : {};
      await fixture.admin.create(RESOURCES.namespaces, { metadata: { name, labels } });
      await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace: name } });
    }
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const pod = (name: string, networks: string, more: object = {}, namespace = NAMESPACE): KubeObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, annotations: { [NETWORKS_ANNOTATION]: networks }, ...more },
    spec: { containers: [{ name: "c", image: "none" }] },
  });
  const createPod = (object: KubeObject): Promise<KubeObject> => fixture.admin.create(KINDS.pods, object);
  const networksOf = (object: KubeObject): { mac?: string; [field: string]: unknown }[] =>
    JSON.parse(object.metadata.annotations?.[NETWORKS_ANNOTATION] ?? "[]");

  /** How often pods were read by their names. A pod has come for a replica that has read it after its admission. */
  const podReads = async (): Promise<number> => {
    const { body } = await fixture.admin.raw("GET", "/metrics");
    return readRequestCounts(String(body)).get("GET pods") ?? 0;
  };

  it("give each attachment of a pod an address, in the list form, and keep fields that are not ours", async () => {
    const list = [
      { name: "a", "ipam-claim-reference": "x", "cni-args": { deep: [1] } },
      { name: "b", mac: "02:00:00:00:01:01" },
    ];
    const created = await createPod(pod("list", JSON.stringify(list)));
    const [first, second] = networksOf(created);
    expect(first).toEqual({ ...list[0], mac: expect.stringMatching(MAC) });
    expect(second).toEqual(list[1]);
    const claim = await fixture.claim(first?.mac ?? "");
    expect(claim?.status?.owners).toMatchObject([
      { kind: "Pod", namespace: NAMESPACE, name: "list", interface: "net1" },
    ]);
    expect((await fixture.claim("02:00:00:00:01:01"))?.status?.phase).toBe("Allocated");
  });

  it("convert the shorthand form", async () => {
    const created = await createPod(pod("short", "a, other/b@eth7"));
    expect(networksOf(created)).toEqual([
      { name: "a", mac: expect.stringMatching(MAC) },
      { name: "b", namespace: "other", interface: "eth7", mac: expect.stringMatching(MAC) },
    ]);
  });

  it("leave an annotation alone that multus would refuse", async () => {
    const created = await createPod(pod("malformed", '[{"name": '));
    expect(created.metadata.annotations?.[NETWORKS_ANNOTATION]).toBe('[{"name": ');
  });

  it("leave an address as it is written, and claim it in its one form", async () => {
    const created = await createPod(pod("notation", '[{"name": "a", "mac": "0200.0000.0401"}]'));
    expect(networksOf(created)).toEqual([{ name: "a", mac: "0200.0000.0401" }]);
    expect((await fixture.claim("02:00:00:00:04:01"))?.status?.owners).toMatchObject([{ name: "notation" }]);
    const nics = [{ name: "a", macAddress: "02-00-00-00-04-02" }];
    const metadata = { name: "notation", namespace: "default" };
    const instance = { apiVersion: "kubevirt.io/v1", kind: "VirtualMachineInstance", metadata, spec: guestSpec(nics) };
    const { spec } = await fixture.admin.create(KINDS.instances, instance);
    expect(macsOf({ metadata: {}, spec: { template: { spec } } })).toEqual(["02-00-00-00-04-02"]);
    expect((await fixture.claim("02:00:00:00:04:02"))?.status?.owners).toMatchObject([{ name: "notation" }]);
  });

  it("refuse an address that a VM has", async () => {
    await fixture.admin.create(
      KINDS.virtualMachines,
      machine("web", "default", [{ name: "net1", macAddress: "02:00:00:00:02:01" }]),
    );
    const refused = createPod(pod("thief", '[{"name": "a", "mac": "0200.0000.0201"}]'));
    await expect(refused).rejects.toThrow(
      "is in use by VirtualMachine default/web (net1). Leave mac out to get an address from the pool.",
    );
  });

  it("do not concern pods of a namespace that has not opted in, but their addresses are never handed out", async () => {
    const created = await createPod(
      pod("free", '[{"name": "a"}, {"name": "b", "mac": "02:5d:1c:00:aa:01"}]', {}, "unmanaged"),
    );
    expect(networksOf(created)).toEqual([{ name: "a" }, { name: "b", mac: "02:5d:1c:00:aa:01" }]);
    await createPod(pod("next", '[{"name": "a"}]'));
    expect(await fixture.claim("02:5d:1c:00:aa:01")).toBeUndefined();
  });

  it("free the address of a pod that has ended or is gone", async () => {
    const reads = await podReads();
    const [ended, gone] = [await createPod(pod("ended", "a")), await createPod(pod("gone", "a"))];
    const macs = [ended, gone].map((object) => networksOf(object)[0]?.mac ?? "");
    await eventually("both have been read", async () => (await podReads()) >= reads + 2);
    const status = { type: "merge", body: { status: { phase: "Succeeded" } } } as const;
    await fixture.admin.patch(KINDS.pods, { name: "ended", namespace: NAMESPACE }, status, { subresource: "status" });
    await fixture.admin.delete(KINDS.pods, { name: "gone", namespace: NAMESPACE }, { gracePeriodSeconds: 0 });
    await eventually("both are free", async () => {
      const claims = await Promise.all(macs.map((mac) => fixture.claim(mac)));
      return claims.every((claim) => claim === undefined);
    });
  });

  it("keep the address of a generated name until the object that it became is gone", async () => {
    const { name: _, ...unnamed } = pod("x", "a").metadata;
    const reads = await podReads();
    const created = await createPod({ ...pod("x", "a"), metadata: { ...unnamed, generateName: "gen-" } });
    const mac = networksOf(created)[0]?.mac ?? "";
    const claim = await fixture.claim(mac);
    expect(claim?.status?.owners).toMatchObject([{ kind: "Pod", generateName: "gen-" }]);
    const { name = "" } = created.metadata;
    await eventually("the pod has been read", async () => (await podReads()) > reads);
    await fixture.admin.delete(KINDS.pods, { name, namespace: NAMESPACE }, { gracePeriodSeconds: 0 });
    await eventually("free", async () => (await fixture.claim(mac)) === undefined);
    expect(claim?.metadata.generation).toBe(1);
  });

  it("give an instance without a VM its addresses, and leave those of a VM alone", async () => {
    const instance = (name: string, owner?: KubeObject): KubeObject => ({
      apiVersion: "kubevirt.io/v1",
      kind: "VirtualMachineInstance",
      metadata: {
        name,
        namespace: "default",
        ...(owner === undefined
          ? {}
          : {
              ownerReferences: [
                { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid: owner.metadata.uid ?? "" },
              ],
            }),
      },
      spec: guestSpec([{ name: "a" }]),
    });
    const macOf = (object: KubeObject): string | undefined =>
      macsOf({ metadata: {}, spec: { template: { spec: object.spec } } })[0];
    const alone = await fixture.admin.create(KINDS.instances, instance("alone"));
    expect(macOf(alone)).toMatch(MAC);
    const vm = await fixture.admin.create(KINDS.virtualMachines, machine("owned", "default", [{ name: "a" }]));
    const owned = await fixture.admin.create(KINDS.instances, instance("owned", vm));
    expect(macOf(owned)).toBeUndefined();
    const mac = macOf(alone) ?? "";
    expect((await fixture.claim(mac))?.status?.owners).toMatchObject([
      { kind: "VirtualMachineInstance", name: "alone" },
    ]);
    await fixture.admin.delete(KINDS.instances, { name: "alone", namespace: "default" });
    await eventually("free", async () => (await fixture.claim(mac)) === undefined);
  });

  it("are claimed once their namespace is managed, wherever their addresses are", async () => {
    const mac = "02:66:00:00:00:01";
    await fixture.admin.create(RESOURCES.namespaces, {
      metadata: { name: "later", labels: { [VM_WEBHOOK]: "ignore" } },
    });
    await eventually("a VM gets past the pool", async () => {
      const vm = machine("a", "later", [{ name: "a", macAddress: mac }, { name: "b" }]);
      const created = await fixture.admin.create(KINDS.virtualMachines, vm, { dryRun: true });
      return macsOf(created)[1] === undefined;
    });
    await fixture.admin.create(KINDS.virtualMachines, machine("a", "later", [{ name: "a", macAddress: mac }]));
    const labels = { type: "merge", body: { metadata: { labels: { [VM_WEBHOOK]: null } } } } as const;
    await fixture.admin.patch(RESOURCES.namespaces, { name: "later" }, labels);
    await eventually("claimed", async () => (await fixture.claim(mac))?.status?.owners[0]?.namespace === "later");
  });

  it("get addresses of the last good ranges while a pool's spec is wrong, which an event tells", async () => {
    const { versions } = MAC_POOL_CRD.spec;
    const withoutRules = JSON.parse(
      JSON.stringify(versions, (key, value) => (key === "x-kubernetes-validations" ? undefined : value)),
    );
    const name = "macpools.macpool.network.kubevirt.io";
    const setVersions = (shown: unknown): Promise<unknown> =>
      fixture.admin.patch(RESOURCES.crds, { name }, { type: "merge", body: { spec: { versions: shown } } });
    const multicastEnd = [{ start: "02:77:00:00:01:00", end: "03:77:00:00:01:ff" }];
    const setRanges = (ranges: unknown): Promise<MACPool> =>
      fixture.admin.patch(KINDS.pools, { name: "lasting" }, { type: "merge", body: { spec: { ranges } } });
    await fixture.createPool("lasting", {
      ranges: [{ start: "02:77:00:00:01:00", end: "02:77:00:00:01:ff" }],
      namespaceSelector: { matchLabels: { tenant: "lasting" } },
    });
    await expect(setRanges(multicastEnd)).rejects.toThrow("Multicast addressing is not supported");
    await setVersions(withoutRules);
    await eventually("a wrong range gets past the API server", () => {
      return setRanges(multicastEnd).then(
        () => true,
        () => false,
      );
    });
    await eventually("an event", async () => {
      const { items } = await fixture.admin.list(RESOURCES.events, { namespace: "default" });
      const told = items.find(({ reason, regarding }) => reason === "InvalidRange" && regarding?.name === "lasting");
      return told?.type === "Warning" && (told.note ?? "").includes("in force: 02:77:00:00:01:00-02:77:00:00:01:ff");
    });
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "lasting", labels: { tenant: "lasting" } } });
    const vm = await fixture.admin.create(KINDS.virtualMachines, machine("a", "lasting", [{ name: "a" }]));
    expect(macsOf(vm)[0]).toMatch(/^02:77:00:00:01:/);
    await setVersions(versions);
  });

  it("serve many pools: the oldest one that selects the namespace", async () => {
    await fixture.createPool("tenant", {
      ranges: [{ start: "02:77:00:00:00:00", end: "02:77:00:00:00:ff" }],
      exclusions: [{ start: "02:77:00:00:00:01", end: "02:77:00:00:00:ff" }],
      namespaceSelector: { matchLabels: { tenant: "t" } },
    });
    await fixture.admin.create(RESOURCES.namespaces, { metadata: { name: "tenant", labels: { tenant: "t" } } });
    const vm = await fixture.admin.create(KINDS.virtualMachines, machine("a", "tenant", [{ name: "a" }]));
    expect(macsOf(vm)).toEqual(["02:77:00:00:00:00"]);
    const second = fixture.admin.create(KINDS.virtualMachines, machine("b", "tenant", [{ name: "a" }]));
    await expect(second).rejects.toThrow("the range is full: the only address of MACPool tenant is taken");
  });

  it("never get a multicast address, nor the one that KubeVirt reserves, from a range that holds them", async () => {
    const rangeWithOne = { start: "02:00:00:00:00:00", end: "02:00:00:00:00:01" };
    const ofOpenShift = { start: "AA:00:00:00:00:00", end: "FE:A8:11:22:33:44" };
    const served = async (name: string, range: { start: string; end: string }) => {
      const labels = { tenant: name };
      await fixture.createPool(name, { ranges: [range], namespaceSelector: { matchLabels: labels } });
      await fixture.admin.create(RESOURCES.namespaces, { metadata: { name, labels } });
      await eventually("a status", async () => (await poolOf(name)).status?.capacity !== undefined);
      const { status } = await poolOf(name);
      return [status?.capacity, status?.conditions?.find(({ type }) => type === "Valid")];
    };
    const poolOf = (name: string): Promise<MACPool> => fixture.admin.get(KINDS.pools, { name });
    expect(await served("wide", ofOpenShift)).toMatchObject([
      46_901_330_326_341,
      { status: "True", message: expect.stringContaining("skips 46,179,488,366,592 multicast addresses") },
    ]);
    const many = Array.from({ length: 8 }, (_, index) => ({ name: `a${index}` }));
    const vm = await fixture.admin.create(KINDS.virtualMachines, machine("a", "wide", many));
    for (const mac of macsOf(vm)) expect(mac).toMatch(/^[a-f][02468ace]:/);

    expect(await served("reserved", rangeWithOne)).toMatchObject([
      1,
      {
        status: "True",
        message: expect.stringContaining("skips 02:00:00:00:00:00, which KubeVirt gives to the bridge"),
      },
    ]);
    const first = await fixture.admin.create(KINDS.virtualMachines, machine("a", "reserved", [{ name: "a" }]));
    expect(macsOf(first)).toEqual([rangeWithOne.end]);
    const second = fixture.admin.create(KINDS.virtualMachines, machine("b", "reserved", [{ name: "a" }]));
    await expect(second).rejects.toThrow("the only address of MACPool reserved is taken");
    const asking = machine("c", "reserved", [{ name: "a", macAddress: rangeWithOne.start }]);
    expect(macsOf(await fixture.admin.create(KINDS.virtualMachines, asking))).toEqual([rangeWithOne.start]);
    await eventually("counted outside", async () => (await poolOf("reserved")).status?.outOfRange === 1);
  });

  it("admit a second holder with a warning where the policy says so, and free the address after the last one only", async () => {
    await fixture.admin.patch(
      KINDS.pools,
      { name: "default" },
      { type: "merge", body: { spec: { conflictPolicy: "Warn" } } },
    );
    const mac = "02:00:00:00:03:01";
    const vm = (name: string): KubeObject => machine(name, "default", [{ name: "a", macAddress: mac }]);
    await fixture.admin.create(KINDS.virtualMachines, vm("left"));
    await eventually("the policy is known", async () => {
      const answer = await fixture.admin
        .create(KINDS.virtualMachines, vm("right"), { dryRun: true })
        .catch(() => undefined);
      return answer !== undefined;
    });
    await fixture.admin.create(KINDS.virtualMachines, vm("right"));
    await eventually("both are owners", async () => {
      const claim = await fixture.claim(mac);
      return claim?.status?.phase === "Allocated" && claim.status.owners.length === 2;
    });
    await fixture.admin.delete(KINDS.virtualMachines, { name: "left", namespace: "default" });
    await eventually("one is left", async () => (await fixture.claim(mac))?.status?.owners.length === 1);
    expect((await fixture.claim(mac))?.status).toMatchObject({ phase: "Allocated", owners: [{ name: "right" }] });
    await fixture.admin.delete(KINDS.virtualMachines, { name: "right", namespace: "default" });
    await eventually("free", async () => (await fixture.claim(mac)) === undefined);
  });
});
