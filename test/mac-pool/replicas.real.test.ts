import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { PENDING_MS } from "../../src/mac-pool/claims/limits.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { eventually } from "../support/eventually.ts";
import { inFlight } from "../support/in-flight.ts";
import { machine, macsOf } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const BURST = 60;
const IN_FLIGHT = 12;
const SMALL = 10;
/** What a call without an answer leaves is pending for so long; then a look of the leader. */
const SETTLED_MS = PENDING_MS + 60_000;

const TIMEOUT_MS = 2 * SETTLED_MS;

describe("several replicas on a real API server", { timeout: TIMEOUT_MS }, () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await Promise.all([fixture.startReplica("one"), fixture.startReplica("two")]);
    await fixture.createPool("default", {
      ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }],
      quarantineSeconds: 1,
    });
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const create = (vm: KubeObject): Promise<KubeObject | Error> =>
    fixture.admin.create(KINDS.virtualMachines, vm).catch((error: Error) => error);
  const created = (results: readonly (KubeObject | Error)[]): KubeObject[] =>
    results.filter((result): result is KubeObject => !(result instanceof Error));
  const machines = async (): Promise<KubeObject[]> => (await fixture.admin.list(KINDS.virtualMachines)).items;

  /** Straight from the VMs: two of them with one address, whatever the claims say. */
  async function duplicates(): Promise<string[]> {
    const all = (await machines()).flatMap(macsOf).filter((mac) => mac !== undefined);
    return all.filter((mac, index) => all.indexOf(mac) !== index);
  }

  async function removeAll(): Promise<void> {
    for (const vm of await machines()) {
      await fixture.admin.delete(KINDS.virtualMachines, { name: vm.metadata.name ?? "", namespace: "default" });
    }
  }

  async function allFree(): Promise<void> {
    await eventually("every address is free again", async () => (await fixture.claims()).length === 0, {
      limitMs: SETTLED_MS,
    });
  }

  it("never give one address to two VMs that are created at the same time", async () => {
    const results = await inFlight(IN_FLIGHT, BURST, (i) =>
      create(machine(`burst-${i}`, "default", [{ name: "a" }, { name: "b" }])),
    );
    expect(created(results)).toHaveLength(BURST);
    expect(await duplicates()).toEqual([]);
    expect(await fixture.claims()).toHaveLength(2 * BURST);
    const both = await Promise.all(["one", "two"].map((name) => fixture.metrics(name)));
    expect(both.every((text) => text.includes('allocations_total{kind="VirtualMachine",origin="automatic"}'))).toBe(
      true,
    );
    for (const resource of ["macclaims", "macpools", "virtualmachines", "pods", "secrets", "networkaddonsconfigs"]) {
      expect(both[0]).toContain(`informer_staleness_seconds{resource="${resource}"}`);
    }
    for (const name of ["claims", "pool-status", "collisions"]) {
      expect(both.join()).toContain(`workqueue_unfinished_work_seconds{name="${name}"}`);
    }
    await removeAll();
    await allFree();
  });

  it("admit exactly one of many VMs that ask for the same address at the same time", async () => {
    const results = await inFlight(IN_FLIGHT, BURST, (i) =>
      create(machine(`same-${i}`, "default", [{ name: "a", macAddress: "02:00:00:00:00:aa" }])),
    );
    expect(created(results)).toHaveLength(1);
    const refusals = results.filter((result) => result instanceof Error).map(({ message }) => message);
    const named = /is in use by VirtualMachine default\/same-\d+ \(a\)/;
    expect(refusals.filter((message) => !named.test(message))).toEqual([]);
    await removeAll();
    await allFree();
  });

  it("give out the last address of a pool and say that it is full then, also when resting ones are used", async () => {
    await fixture.admin.patch(
      KINDS.pools,
      { name: "default" },
      {
        type: "merge",
        body: { spec: { ranges: [{ start: "02:aa:00:00:00:00", end: "02:aa:00:00:00:09" }], quarantineSeconds: 300 } },
      },
    );
    await fixture.everyReplicaKnows("default", SMALL);
    const more = SMALL + 3;
    const vm = (i: number) => machine(`full-${i}`, "default", [{ name: "a" }]);
    const results = await Promise.all(Array.from({ length: more }, (_, i) => create(vm(i))));
    expect(created(results)).toHaveLength(SMALL);
    const [refused] = results.filter((result) => result instanceof Error);
    expect(refused?.message).toContain("the range is full: none of the 10 addresses of MACPool default is free");
    expect(await duplicates()).toEqual([]);
    const events = async () => (await fixture.admin.list(RESOURCES.events, { namespace: "default" })).items;
    await eventually("an event on the pool", async () =>
      (await events()).some(({ reason, regarding }) => reason === "RangeFull" && regarding?.kind === "MACPool"),
    );
    const texts = (await Promise.all(["one", "two"].map((name) => fixture.metrics(name)))).join("\n");
    expect(texts).toContain('kubevirt_macpool_denials_total{reason="MACPOOL_FULL"}');
    const name = created(results)[0]?.metadata.name ?? "";
    await fixture.admin.delete(KINDS.virtualMachines, { name, namespace: "default" });
    await eventually("its address rests", async () =>
      (await fixture.claims()).some((claim) => claim.status?.phase === "Quarantined"),
    );
    await eventually(
      "the resting address is used",
      async () => !((await create(machine("reuse", "default", [{ name: "a" }]))) instanceof Error),
    );
    expect(await duplicates()).toEqual([]);
    await fixture.admin.patch(
      KINDS.pools,
      { name: "default" },
      {
        type: "merge",
        body: { spec: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:ff" }], quarantineSeconds: 1 } },
      },
    );
    await eventually("what has stayed outside is reported", async () => {
      return (await fixture.admin.get(KINDS.pools, { name: "default" })).status?.outOfRange === SMALL;
    });
    await fixture.everyReplicaKnows("default", 256);
    await removeAll();
    await allFree();
  });

  it("go on without a duplicate or a leak when the leader is killed in the middle of creations and deletions", async () => {
    const leader = await fixture.leader();
    const first = await inFlight(IN_FLIGHT, 20, (i) => create(machine(`before-${i}`, "default", [{ name: "a" }])));
    const during = inFlight(IN_FLIGHT, BURST, (i) =>
      create(machine(`during-${i}`, "default", [{ name: "a" }, { name: "b" }])),
    );
    const removals = created(first).map((vm) =>
      fixture.admin.delete(KINDS.virtualMachines, { name: vm.metadata.name ?? "", namespace: "default" }),
    );
    await fixture.killReplica(leader);
    const results = await during;
    await Promise.all(removals);
    expect(await duplicates()).toEqual([]);
    await fixture.startReplica("three");
    expect(await create(machine("after", "default", [{ name: "a" }]))).not.toBeInstanceOf(Error);
    const alive = created(results).length * 2 + 1;
    const settled = async () => {
      const bound = (await fixture.claims()).filter((claim) => claim.status?.phase === "Allocated");
      return bound.length === alive;
    };
    await eventually("the next leader binds what lives and frees what does not", settled, { limitMs: SETTLED_MS });
    expect(await duplicates()).toEqual([]);
  });

  it("finish what they are asked and end with exit code 0 on SIGTERM, without a failed creation", async () => {
    await fixture.admin.patch(
      KINDS.pools,
      { name: "default" },
      { type: "merge", body: { spec: { ranges: [{ start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:ff:ff" }] } } },
    );
    await fixture.everyReplicaKnows("default", 65_536);
    const leader = await fixture.leader();
    let stopped = false;
    const stopping = fixture.stopReplica(leader).finally(() => {
      stopped = true;
    });
    const results: (KubeObject | Error)[] = [];
    for (let i = 0; !stopped; i++) results.push(await create(machine(`rolling-${i}`, "default", [{ name: "a" }])));
    expect(await stopping).toBe(0);
    expect(results.filter((result) => result instanceof Error)).toEqual([]);
    expect(await duplicates()).toEqual([]);
  });
});
