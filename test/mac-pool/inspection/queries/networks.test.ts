import { describe, expect, it } from "vitest";
import type { NetworkView } from "../../../../src/mac-pool/inspection/rest/views.ts";
import { InspectionFixture, type InspectionFixtureOptions } from "../inspection-fixture.ts";
import { bridgeOf, guestOf, nadOf, rawNad, reportOf } from "../networks.ts";
import { THREE_NODES } from "../three-nodes.ts";

const ALL = { namespace: undefined };
const PAGE = { limit: 100 };

async function networksOf(options: InspectionFixtureOptions): Promise<Map<string, NetworkView>> {
  await using fixture = await InspectionFixture.start(options);
  const { items } = await fixture.inspector.networks.networks({ limit: 500 }, ALL);
  return new Map(items.map((item) => [item.name, item]));
}

const cellsOf = (network: NetworkView | undefined): string[] =>
  (network?.cells ?? []).map(({ node, running, verdict }) => `${node} ${running} ${verdict}`);
const codesOf = (network: NetworkView | undefined): string[] => (network?.findings ?? []).map(({ code }) => code);

describe("networks", () => {
  it("come by bridge, namespace and name, each with a verdict for each node", async () => {
    await using fixture = await InspectionFixture.start(THREE_NODES);
    const { items, total } = await fixture.inspector.networks.networks(PAGE, ALL);
    expect(total).toBe(5);
    expect(items.map(({ bridge, name }) => `${bridge} ${name}`)).toEqual([
      "br1 br1-net",
      "br1 vlan100",
      "br1 noann",
      "br7 wrong",
      "br9 br9",
    ]);
    expect(items.map(cellsOf)).toEqual([
      ["node-a 2 Works", "node-b 0 NoBridge", "node-c 0 NoBridge"],
      ["node-a 1 Warning", "node-b 0 NoBridge", "node-c 0 NoBridge"],
      ["node-a 0 Works", "node-b 0 Fails", "node-c 0 Fails"],
      ["node-a 0 Fails", "node-b 0 Fails", "node-c 0 Fails"],
      ["node-a 0 NoBridge", "node-b 0 NoBridge", "node-c 0 NoBridge"],
    ]);
    expect(items.map(codesOf)).toEqual([
      ["same-network"],
      ["vlan-unfiltered"],
      ["resource-missing", "same-network"],
      ["resource-differs", "key-ignored", "bridge-on-no-node"],
      ["bridge-on-no-node"],
    ]);
    expect(items[0]).toMatchObject({ mtu: "inherit", running: 2, usedBy: ["tenant-a", "tenant-b"], spoofCheck: false });
    expect(items[1]).toMatchObject({
      vlan: 100,
      spoofCheck: true,
      nodes: { total: 3, withBridge: 1, warning: 1, noBridge: 2 },
    });
    expect(items[4]).toMatchObject({ running: 0, pending: 1, waiting: ["tenant-lab/nobridge"] });
  });

  it("say what another plugin, a file of the node and a configuration that nobody can read are", async () => {
    const found = await networksOf({
      nodeMacs: [reportOf("node-a", [bridgeOf("br1")])],
      nads: [
        rawNad("a", "ovs", JSON.stringify({ type: "ovs", bridge: "br1" })),
        rawNad("a", "file", ""),
        rawNad("a", "broken", "{"),
        rawNad("a", "number", 1),
        rawNad("a", "deep", "[".repeat(8_000)),
        rawNad("a", "long", JSON.stringify({ type: "bridge", bridge: "br1", note: "x".repeat(17_000) })),
        rawNad("a", "prototype", '{"type": "__proto__", "bridge": "constructor"}'),
      ],
    });
    expect(cellsOf(found.get("ovs"))).toEqual(["node-a 0 Unknown"]);
    expect(found.get("ovs")).toMatchObject({ type: "ovs", findings: [] });
    expect(cellsOf(found.get("file"))).toEqual(["node-a 0 Unknown"]);
    expect(codesOf(found.get("file"))).toEqual(["config-on-node"]);
    expect(codesOf(found.get("broken"))).toEqual(["config-unreadable"]);
    expect(cellsOf(found.get("broken"))).toEqual(["node-a 0 Fails"]);
    expect(codesOf(found.get("deep"))).toEqual(["config-unreadable"]);
    expect(codesOf(found.get("long"))).toEqual(["config-too-long"]);
    expect(cellsOf(found.get("long"))).toEqual(["node-a 0 Unknown"]);
    expect(cellsOf(found.get("prototype"))).toEqual(["node-a 0 Unknown"]);
  });

  it("tell where the uplink of their bridge is down, and where it is missing though other nodes have one", async () => {
    const options: InspectionFixtureOptions = {
      nodeMacs: [
        reportOf("node-a", [bridgeOf("br1", { uplinks: [{ name: "eth1", carrier: true, mtu: 1500 }] })]),
        reportOf("node-b", [bridgeOf("br1", { uplinks: [] }), bridgeOf("br2", { uplinks: [] })]),
        reportOf("node-c", [bridgeOf("br1", { uplinks: [{ name: "eth1", carrier: false, mtu: 1500 }] })]),
        reportOf("node-d", [bridgeOf("br1", { uplinks: [], hasAddress: true })]),
      ],
      nads: [nadOf("a", "storage"), nadOf("a", "closed", { bridge: "br2" })],
    };
    const found = await networksOf(options);
    expect(found.get("storage")?.findings).toMatchObject([
      { code: "uplink-down", severity: "warning", summary: "uplink is down on node-c" },
      { code: "uplink-missing", severity: "warning", summary: "no uplink on node-b" },
    ]);
    expect(cellsOf(found.get("storage"))).toEqual(["a", "b", "c", "d"].map((node) => `node-${node} 0 Works`));
    expect(codesOf(found.get("closed"))).toEqual([]);
    await using fixture = await InspectionFixture.start(options);
    const { findings } = await fixture.inspector.networks.network("a", "storage", ALL);
    expect(findings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^bridge br1: its uplink has no carrier on node-c\..*same node.*ip link show master br1/),
      expect.stringMatching(/^bridge br1: no port leads out of the node on node-b\..*same node.*Add the uplink/),
    ]);
  });

  it("do not start with a VLAN on a node whose kernel knows none", async () => {
    const options = {
      nodeMacs: [
        reportOf("node-a", [bridgeOf("br1", { vlanFiltering: false, canFilterVlans: false })]),
        reportOf("node-b", [bridgeOf("br1", { vlanFiltering: false })]),
      ],
      nads: [nadOf("a", "vlan", { config: { vlan: 5 } }), nadOf("a", "flat")],
    };
    const found = await networksOf(options);
    expect(cellsOf(found.get("vlan"))).toEqual(["node-a 0 Fails", "node-b 0 Warning"]);
    expect(codesOf(found.get("vlan"))).toEqual(["vlan-impossible", "vlan-unfiltered"]);
    expect(cellsOf(found.get("flat"))).toEqual(["node-a 0 Works", "node-b 0 Works"]);
    await using fixture = await InspectionFixture.start(options);
    expect((await fixture.inspector.networks.bridges(PAGE, ALL)).items).toMatchObject([
      { problems: ["kernel can't filter VLANs on node-a", "does not filter VLANs on node-b"] },
    ]);
  });

  it("say of a bridge that the plugin refuses nothing but that", async () => {
    const plugins = [
      { type: "bridge", bridge: "br2", vlan: 5 },
      { type: "bridge", bridge: "br1", vlan: 5 },
    ];
    const found = await networksOf({
      nodeMacs: [reportOf("node-a", [bridgeOf("br1"), bridgeOf("br2", { vlanFiltering: false })])],
      nads: [
        nadOf("a", "vlan", { config: { vlan: 99_999 } }),
        nadOf("a", "trunk", { config: { vlanTrunk: [{ id: "x" }] } }),
        rawNad("a", "second", JSON.stringify({ cniVersion: "0.3.1", name: "second", plugins })),
      ],
    });
    expect(codesOf(found.get("vlan"))).toEqual(["plugin-refuses"]);
    expect(codesOf(found.get("trunk"))).toEqual(["plugin-refuses"]);
    expect(cellsOf(found.get("vlan"))).toEqual(["node-a 0 Fails"]);
    expect(codesOf(found.get("second"))).toEqual(["plugin-refuses", "resource-missing", "vlan-unfiltered"]);
    const messages = found
      .get("second")
      ?.findings.map(({ message }) => message)
      .join();
    expect(messages).not.toContain("br1 does not filter VLANs");
  });

  it("judge nodes by the settings of their bridge, and name those that are not like most", async () => {
    const node = (index: number): string => `node-${String(index).padStart(4, "0")}`;
    const filters = (index: number): boolean => index !== 7 && index !== 300;
    const reports = Array.from({ length: 1_000 }, (_, index) =>
      reportOf(node(index), index < 412 ? [bridgeOf("br1", { vlanFiltering: filters(index) })] : []),
    );
    const nads = [
      nadOf("a", "warns", { config: { vlan: 5 } }),
      nadOf("a", "refuses", { config: { vlan: 6, requireVlanFiltering: true } }),
    ];
    await using fixture = await InspectionFixture.start({ nodeMacs: reports, nads });
    const { items } = await fixture.inspector.networks.networks(PAGE, ALL);
    expect(items.map(cellsOf)).toEqual([
      [`${node(7)} 0 Fails`, `${node(300)} 0 Fails`],
      [`${node(7)} 0 Warning`, `${node(300)} 0 Warning`],
    ]);
    expect(items[0]?.nodes).toEqual({
      total: 1_000,
      withBridge: 412,
      works: 410,
      warning: 0,
      fails: 2,
      notNow: 0,
      noBridge: 588,
      unknown: 0,
    });
    expect((await fixture.inspector.networks.network("a", "warns", ALL)).cells).toHaveLength(1_000);
    const { items: bridges } = await fixture.inspector.networks.bridges(PAGE, ALL);
    expect(bridges).toMatchObject([
      {
        name: "br1",
        nodes: 412,
        totalNodes: 1_000,
        filtering: "mixed",
        networks: 2,
        on: [{ node: node(7) }, { node: node(300) }],
        problems: [`does not filter VLANs on 2 of 412 nodes, such as ${node(7)}`],
      },
    ]);
  });

  it("do not count a report that no node owns", async () => {
    const orphan = reportOf("ghost", [bridgeOf("br1")]);
    const found = await networksOf({
      nodeMacs: [reportOf("node-a", [bridgeOf("br1")]), { ...orphan, metadata: { name: "ghost", uid: "ghost" } }],
      nads: [nadOf("a", "n")],
    });
    expect(cellsOf(found.get("n"))).toEqual(["node-a 0 Works"]);
    expect(found.get("n")?.nodes.total).toBe(1);
  });

  it("follow VMs, pods, networks and bridges", async () => {
    await using fixture = await InspectionFixture.start(THREE_NODES);
    const ask = async (): Promise<NetworkView> => fixture.inspector.networks.network("default", "br1-net", ALL);
    expect(await ask()).toMatchObject({ running: 2, pods: 0 });
    const { objects } = fixture;
    await objects.tell("ADDED", "virtualmachineinstances", guestOf("tenant-b", "new", ["default/br1-net"]));
    expect(await ask()).toMatchObject({ running: 2, pending: 1, waiting: ["tenant-b/new"] });
    await objects.tell(
      "MODIFIED",
      "virtualmachineinstances",
      guestOf("tenant-b", "new", ["default/br1-net"], "node-c"),
    );
    expect(cellsOf(await ask())).toEqual(["node-a 2 Works", "node-b 0 NoBridge", "node-c 1 NoBridge"]);
    await objects.tell("DELETED", "virtualmachineinstances", guestOf("tenant-b", "new", ["default/br1-net"], "node-c"));
    await objects.tell("MODIFIED", "nodemacs", reportOf("node-c", [bridgeOf("br1")]));
    expect(cellsOf(await ask())).toEqual(["node-a 2 Works", "node-b 0 NoBridge", "node-c 0 Works"]);
    await objects.tell("MODIFIED", "network-attachment-definitions", nadOf("default", "br1-net", { bridge: "br2" }));
    expect(cellsOf(await ask())).toEqual(["node-a 2 NoBridge", "node-b 0 Works", "node-c 0 NoBridge"]);
    const annotations = {
      "k8s.v1.cni.cncf.io/networks": '[{"name": "br1-net", "namespace": "default", "mac": "02:00:00:00:00:07"}]',
    };
    const pod = { metadata: { namespace: "a", name: "p", uid: "p", annotations }, spec: { nodeName: "node-b" } };
    await objects.tell("ADDED", "pods", pod);
    expect(await ask()).toMatchObject({ pods: 1, usedBy: ["a", "tenant-a", "tenant-b"] });
    await objects.tell("DELETED", "network-attachment-definitions", nadOf("default", "br1-net"));
    await expect(ask()).rejects.toMatchObject({ view: { code: "MACPOOL_NOT_FOUND" } });
  });

  it("are found by a part of their name, by bridge and by namespace, page by page", async () => {
    await using fixture = await InspectionFixture.start(THREE_NODES);
    const { networks } = fixture.inspector;
    const names = async (filter: object): Promise<string[]> =>
      (await networks.networks({ ...PAGE, ...filter }, ALL)).items.map(({ name }) => name);
    expect(await names({ search: "TENANT-lab/" })).toEqual(["noann", "wrong", "br9"]);
    expect(await names({ bridge: "br1" })).toEqual(["br1-net", "vlan100", "noann"]);
    expect(await names({ namespace: "tenant-a" })).toEqual(["vlan100"]);
    const first = await networks.networks({ limit: 2 }, ALL);
    const second = await networks.networks({ limit: 2, continue: first.continue }, ALL);
    const third = await networks.networks({ limit: 2, continue: second.continue }, ALL);
    expect([first, second, third].map(({ items }) => items.map(({ name }) => name))).toEqual([
      ["br1-net", "vlan100"],
      ["noann", "wrong"],
      ["br9"],
    ]);
    expect([first.total, third.continue]).toEqual([5, undefined]);
    const other = networks.networks({ limit: 2, bridge: "br1", continue: first.continue }, ALL);
    await expect(other).rejects.toMatchObject({ view: { parameter: "continue" } });
    const bridges = await networks.bridges({ limit: 1 }, ALL);
    const more = await networks.bridges({ limit: 5, continue: bridges.continue }, ALL);
    expect([...bridges.items, ...more.items].map(({ name }) => name)).toEqual(["br1", "br2", "br7", "br9"]);
  });

  it("are not watched before somebody asks", async () => {
    await using fixture = await InspectionFixture.start(THREE_NODES);
    expect(fixture.caches.networks.hasSynced).toBe(false);
    await fixture.inspector.networks.bridges(PAGE, ALL);
    expect(fixture.caches.networks.hasSynced).toBe(true);
  });
});
