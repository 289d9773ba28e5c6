import { describe, expect, it } from "vitest";
import type { NetworkView } from "../../../../src/mac-pool/inspection/rest/views.ts";
import { InspectionFixture } from "../inspection-fixture.ts";
import { bridgeOf, guestOf, nadOf, reportOf } from "../networks.ts";
import { THREE_NODES } from "../three-nodes.ts";

const ALL = { namespace: undefined };
const PAGE = { limit: 100 };

const cellsOf = (network: NetworkView | undefined): string[] =>
  (network?.cells ?? []).map(({ node, running, verdict }) => `${node} ${running} ${verdict}`);

describe("bridges", () => {
  it("say where they are, how they are set and what is wrong", async () => {
    await using fixture = await InspectionFixture.start(THREE_NODES);
    const { items } = await fixture.inspector.networks.bridges(PAGE, ALL);
    expect(items).toEqual([
      {
        name: "br1",
        nodes: 1,
        totalNodes: 3,
        mtus: [1500],
        filtering: "off",
        uplink: "up",
        networks: 3,
        running: 3,
        on: [{ node: "node-a", mtu: 1500, vlanFiltering: false, uplink: "up", running: 3 }],
        problems: ["does not filter VLANs on node-a"],
        notes: [],
      },
      {
        name: "br2",
        nodes: 1,
        totalNodes: 3,
        mtus: [9000],
        filtering: "on",
        uplink: "none",
        networks: 0,
        running: 0,
        on: [{ node: "node-b", mtu: 9000, vlanFiltering: true, uplink: "none", running: 0 }],
        problems: [],
        notes: ["no network uses it", "no uplink: VMs reach only VMs of the same node"],
      },
      ...["br7", "br9"].map((name) => ({
        name,
        nodes: 0,
        totalNodes: 3,
        mtus: [],
        networks: 1,
        running: 0,
        on: [],
        problems: ["on no node"],
        notes: [],
      })),
    ]);
  });
});

describe("a bridge without an uplink", () => {
  it("is noted where the node itself has no address on it", async () => {
    const closed = bridgeOf("br1");
    const open = bridgeOf("br1", { uplinks: [{ name: "eth1", carrier: true, mtu: 1500 }] });
    const routed = bridgeOf("br1", { hasAddress: true });
    const notesOf = async (...bridges: readonly (typeof closed)[]) => {
      await using fixture = await InspectionFixture.start({
        nodeMacs: bridges.map((bridge, index) => reportOf(`node-${index}`, [bridge])),
        nads: [nadOf("a", "net")],
      });
      const [found] = (await fixture.inspector.networks.bridges(PAGE, ALL)).items;
      return [found?.problems, found?.notes];
    };
    const said = "VMs reach only VMs of the same node";
    expect(await notesOf(closed, closed)).toEqual([[], [`no uplink: ${said}`]]);
    expect(await notesOf(closed, open)).toEqual([[], [`no uplink on node-0: ${said}`]]);
    expect(await notesOf(routed, open)).toEqual([[], []]);
  });
});

describe("the reader of one namespace", () => {
  const TENANT = { namespace: "tenant-a" };

  it("sees its networks, and of their users its own", async () => {
    await using fixture = await InspectionFixture.start({
      ...THREE_NODES,
      instances: [
        ...(THREE_NODES.instances ?? []),
        guestOf("tenant-b", "guest", ["tenant-a/vlan100"], "node-c"),
        guestOf("tenant-b", "late", ["tenant-a/vlan100"]),
      ],
    });
    const { networks } = fixture.inspector;
    const { items, total } = await networks.networks(PAGE, TENANT);
    expect(total).toBe(1);
    expect(items).toMatchObject([{ name: "vlan100", running: 1, pending: 0, usedBy: ["tenant-a"], waiting: [] }]);
    expect(items.map(cellsOf)).toEqual([["node-a 1 Warning"]]);
    expect(await networks.networks({ ...PAGE, namespace: "tenant-lab" }, TENANT)).toEqual({ items: [], total: 0 });
  });

  it("has a cell of each of its networks on each node that has a bridge of one of them", async () => {
    const lab = { namespace: "tenant-lab" };
    await using fixture = await InspectionFixture.start(THREE_NODES);
    const { networks } = fixture.inspector;
    const { items } = await networks.networks(PAGE, lab);
    expect(items.map((item) => [item.name, ...cellsOf(item)])).toEqual([
      ["noann", "node-a 0 Works"],
      ["wrong", "node-a 0 Fails"],
      ["br9", "node-a 0 NoBridge"],
    ]);
    expect(cellsOf(await networks.network("tenant-lab", "br9", lab))).toEqual(["node-a 0 NoBridge"]);
  });

  it("sees the bridges of its networks, with counts of its own VMs", async () => {
    await using fixture = await InspectionFixture.start(THREE_NODES);
    const { items } = await fixture.inspector.networks.bridges(PAGE, TENANT);
    expect(items).toMatchObject([{ name: "br1", networks: 1, running: 2, on: [{ node: "node-a", running: 2 }] }]);
  });

  it("counts its own VMs on a bridge also where a network of another namespace leads there", async () => {
    const instances = [
      guestOf("tenant-a", "own", ["tenant-a/mine"], "node-a"),
      guestOf("tenant-a", "other", ["tenant-b/theirs"], "node-a"),
      guestOf("tenant-b", "foreign", ["tenant-b/theirs"], "node-a"),
    ];
    const nads = [nadOf("tenant-a", "mine"), nadOf("tenant-b", "theirs")];
    await using fixture = await InspectionFixture.start({ ...THREE_NODES, nads, instances });
    const { items } = await fixture.inspector.networks.bridges(PAGE, TENANT);
    expect(items).toMatchObject([{ name: "br1", networks: 1, running: 2, on: [{ node: "node-a", running: 2 }] }]);
  });

  it("is told of no name in another namespace", async () => {
    const nads = [nadOf("tenant-a", "mine"), nadOf("tenant-b", "secret")];
    await using fixture = await InspectionFixture.start({ ...THREE_NODES, nads });
    const { networks } = fixture.inspector;
    const own = await networks.network("tenant-a", "mine", TENANT);
    expect(own.findings).toMatchObject([
      { code: "same-network", message: expect.stringContaining("a network of another namespace leads to bridge br1") },
    ]);
    const all = await networks.network("tenant-a", "mine", ALL);
    expect(all.findings).toMatchObject([{ message: expect.stringContaining("network tenant-b/secret") }]);
  });
});
