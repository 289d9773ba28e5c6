import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MacPoolSpec } from "../../src/api/mac-pool.ts";
import { type KubeObject, RESOURCES } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";
import { nadCrd } from "../cluster/multus/nad-crd.ts";
import { eventually } from "../support/eventually.ts";
import { inFlight } from "../support/in-flight.ts";
import { instanceOf, machine } from "./machines.ts";
import { PoolFixture } from "./pool-fixture.ts";

const POOLS: Readonly<Record<string, Partial<MacPoolSpec>>> = {
  apart: { conflictScope: "Network" },
  running: { conflictScope: "Network", conflictPolicy: "DenyRunning" },
  whole: {},
};
/** Networks of each namespace: bridge and VLAN. */
const NETWORKS: Readonly<Record<string, readonly [bridge: string, vlan?: number]>> = {
  "br1-10": ["br1", 10],
  "also-10": ["br1", 10],
  "br1-20": ["br1", 20],
  br1: ["br1"],
  br2: ["br2"],
};
const BURST = 48;
const IN_FLIGHT = 12;

const configOf = (bridge: string, vlan?: number): object => {
  return { spec: { config: JSON.stringify({ cniVersion: "0.3.1", type: "cnv-bridge", bridge, vlan }) } };
};

describe("pools with conflictScope Network, on a real API server", () => {
  let fixture: PoolFixture;

  beforeAll(async () => {
    fixture = await PoolFixture.start();
    await Promise.all([fixture.startReplica("one"), fixture.startReplica("two")]);
    for (const name of [...Object.keys(POOLS), "beside"]) {
      const pool = name === "beside" ? "apart" : name;
      await fixture.admin.create(RESOURCES.namespaces, { metadata: { name, labels: { pool } } });
    }
    for (const [number, [name, spec]] of Object.entries(POOLS).entries()) {
      await fixture.createPool(name, {
        ranges: [{ start: `02:5d:1c:0${number}:00:00`, end: `02:5d:1c:0${number}:00:ff` }],
        namespaceSelector: { matchLabels: { pool: name } },
        ...spec,
      });
    }
    await fixture.registerWebhooks();
  });
  afterAll(async () => {
    await fixture?.[Symbol.asyncDispose]();
  });

  const create = (name: string, namespace: string, network: string, macAddress: string, dryRun = false) =>
    fixture.admin.create(KINDS.virtualMachines, machine(name, namespace, [{ name: "a", macAddress, network }]), {
      dryRun,
    });
  const said = (answer: Promise<unknown>): Promise<string> =>
    answer.then(
      () => "admitted",
      (error: Error) => error.message,
    );
  const move = ({ metadata: { name = "", namespace = "" } }: KubeObject, networkName: string): Promise<string> => {
    const body = { spec: { template: { spec: { networks: [{ name: "a", multus: { networkName } }] } } } };
    return said(fixture.admin.patch(KINDS.virtualMachines, { name, namespace }, { type: "merge", body }));
  };
  const start = (vm: KubeObject): Promise<KubeObject> => fixture.admin.create(KINDS.instances, instanceOf(vm));
  const report = async (vmi: KubeObject, mac: string): Promise<void> => {
    const { name = "", namespace = "" } = vmi.metadata;
    const body = { status: { phase: "Running", nodeName: "node-a", interfaces: [{ name: "a", mac }] } };
    await fixture.admin.patch(KINDS.instances, { name, namespace }, { type: "merge", body }, { subresource: "status" });
  };
  const conflictsOf = async (name: string) => (await fixture.admin.get(KINDS.pools, { name })).status?.conflicts;
  const collides = async (mac: string): Promise<boolean> =>
    (await fixture.metrics(await fixture.leader())).includes(`kmp_mac_collisions{mac="${mac}"} 2`);

  it("refuse an address in use as any other while the cluster has no network definitions", async () => {
    const mac = "02:5d:1c:00:00:01";
    await create("early", "apart", "br1-10", mac);
    expect(await said(create("other", "apart", "br2", mac))).toContain("is in use by VirtualMachine apart/early (a)");
  });

  it("let networks that can't meet have the same address, and no others", async () => {
    await fixture.admin.create(RESOURCES.crds, nadCrd as never);
    for (const namespace of [...Object.keys(POOLS), "beside"]) {
      for (const [name, [bridge, vlan]] of Object.entries(NETWORKS)) {
        const nad = { metadata: { name, namespace }, ...configOf(bridge, vlan) };
        await eventually("the API server serves networks", () =>
          fixture.admin.create(KINDS.networks, nad as KubeObject),
        );
      }
    }
    const mac = "02:5d:1c:00:00:02";
    for (const [name, namespace] of [
      ["br1-10", "apart"],
      ["br1-20", "apart"],
      ["br2", "beside"],
    ] as const)
      expect(await said(create(name, namespace, name, mac))).toBe("admitted");
    for (const network of ["br1-10", "also-10", "br1", "apart/br1-20", "missing"])
      expect(await said(create("late", "beside", network, mac))).toContain(`MAC ${mac} of interface "a" is in use by`);
    expect(await said(create("late", "whole", "br1-10", mac))).toContain("in use by");
    const owners = (await fixture.claim(mac))?.status?.owners.map(({ name, domains }) => [name, domains]);
    expect(owners).toEqual([
      ["br1-10", ["bridge br1 vlan 10"]],
      ["br1-20", ["bridge br1 vlan 20"]],
      ["br2", ["bridge br2"]],
    ]);
  });

  it("refuse an address that a namespace with another pool has, on whatever network", async () => {
    const mac = "02:5d:1c:02:00:01";
    await create("holder", "whole", "br1-10", mac);
    expect(await said(create("late", "apart", "br2", mac))).toContain("in use by VirtualMachine whole/holder (a)");
  });

  it("judge a VM that moves to another network with its address, and keep the one that it comes from", async () => {
    const mac = "02:5d:1c:00:00:03";
    await create("stays", "apart", "br1-10", mac);
    const moves = await create("moves", "beside", "br1-20", mac);
    expect(await move(moves, "also-10")).toContain("is in use by VirtualMachine apart/stays (a)");
    expect(await move(moves, "missing")).toContain("is in use by VirtualMachine apart/stays (a)");
    expect(await move(moves, "br2")).toBe("admitted");
    // Its instance may still be where it was.
    expect(await said(create("late", "apart", "br1-20", mac))).toContain("in use by VirtualMachine beside/moves (a)");
    expect(await said(create("late", "apart", "br2", mac))).toContain("in use by VirtualMachine beside/moves (a)");
  });

  it("count a network that is edited as what it was and as what it is", async () => {
    const mac = "02:5d:1c:00:00:04";
    const nad = { metadata: { name: "edited", namespace: "apart" }, ...configOf("br3", 30) };
    await fixture.admin.create(KINDS.networks, nad as KubeObject);
    await create("holder", "apart", "edited", mac);
    for (const vlan of [30, 31, 32]) {
      const other = { metadata: { name: `vlan-${vlan}`, namespace: "apart" }, ...configOf("br3", vlan) };
      await fixture.admin.create(KINDS.networks, other as KubeObject);
    }
    const asked = (vlan: number) => said(create("late", "apart", `vlan-${vlan}`, mac, true));
    expect([await asked(30), await asked(31)]).toEqual([expect.stringContaining("in use by"), "admitted"]);
    await fixture.admin.patch(
      KINDS.networks,
      { name: "edited", namespace: "apart" },
      { type: "merge", body: configOf("br3", 31) as never },
    );
    await eventually("both replicas know", async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => asked(31)));
      return answers.every((answer) => answer.includes("in use by"));
    });
    expect([await asked(30), await asked(32)]).toEqual([expect.stringContaining("in use by"), "admitted"]);
  });

  it("take an instance for its VM's only on the network of the VM", async () => {
    const mac = "02:5d:1c:00:00:05";
    await create("victim", "beside", "br1-10", mac);
    const own = await create("own", "apart", "br2", mac);
    const { spec } = machine("own", "apart", [{ name: "a", macAddress: mac, network: "br1-10" }]);
    expect(await said(start({ ...own, spec }))).toContain("is in use by VirtualMachine beside/victim (a)");
    expect(await said(start(own))).toBe("admitted");
  });

  it("let one VM on each network run, and report those that meet", async () => {
    const [mac, other] = ["02:5d:1c:01:00:01", "02:5d:1c:01:00:02"];
    const [first, twin, apart] = [
      await create("first", "running", "br1-10", mac),
      await create("twin", "running", "also-10", mac),
      await create("apart", "running", "br1-20", mac),
    ];
    const [one, two] = [await start(first), await start(apart)];
    expect(await said(start(twin))).toContain(
      "VirtualMachine running/twin can't start: VirtualMachine running/first has",
    );
    expect(await move(apart, "also-10")).toContain("can't get interface");
    expect(await move(apart, "br2")).toBe("admitted");
    await report(one, mac);
    await report(two, mac);
    // A guest that changes its address.
    const guest = await start(await create("guest", "running", "br1-10", "02:5d:1c:01:00:03"));
    const host = await start(await create("host", "running", "also-10", other));
    await report(guest, other);
    await report(host, other);
    await eventually("a collision on one network is reported", () => collides(other));
    expect(await collides(mac)).toBe(false);
    await eventually("the pool counts those that meet", async () => (await conflictsOf("running")) === 2);
  });

  it("count and report all that share an address once the scope is the cluster", async () => {
    const body = (conflictScope: string) => ({ type: "merge", body: { spec: { conflictScope } } }) as const;
    const mac = "02:5d:1c:01:00:01";
    await fixture.admin.patch(KINDS.pools, { name: "apart" }, body("Cluster"));
    await fixture.admin.patch(KINDS.pools, { name: "running" }, body("Cluster"));
    await eventually("all are in conflict", async () => (await conflictsOf("apart")) === 3);
    await eventually("the collision is reported", () => collides(mac));
    expect(await said(create("late", "apart", "br1", "02:5d:1c:00:00:02"))).toContain("in use by");
    await fixture.admin.patch(KINDS.pools, { name: "apart" }, body("Network"));
    await fixture.admin.patch(KINDS.pools, { name: "running" }, body("Network"));
    await eventually("none is in conflict", async () => (await conflictsOf("apart")) === 0);
    await eventually("the collision is over", async () => !(await collides(mac)));
  });

  it("never let two requests at one moment have an address on one network, whichever replicas they ask", async () => {
    const mac = "02:5d:1c:00:00:06";
    const networks = Object.keys(NETWORKS).filter((name) => name !== "br1");
    const admitted = (
      await inFlight(IN_FLIGHT, BURST, async (index) => {
        const network = networks[index % networks.length] ?? "";
        const answer = await said(create(`burst-${index}`, index % 3 === 0 ? "beside" : "apart", network, mac));
        return answer === "admitted" ? [NETWORKS[network]?.join(" ")] : [];
      })
    ).flat();
    expect(admitted.toSorted()).toEqual(["br1 10", "br1 20", "br2"]);
    expect((await fixture.claim(mac))?.status?.owners).toHaveLength(3);
  });
});
