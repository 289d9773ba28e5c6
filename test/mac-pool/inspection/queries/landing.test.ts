import { describe, expect, it } from "vitest";
import type { NetworkView } from "../../../../src/mac-pool/inspection/rest/views.ts";
import { InspectionFixture, type InspectionFixtureOptions } from "../inspection-fixture.ts";
import { bridgeOf, nadOf, nodeOf, reportOf } from "../networks.ts";

const ALL = { namespace: undefined };

const cellsOf = (network: NetworkView | undefined): string[] =>
  (network?.cells ?? []).map(({ node, running, verdict }) => `${node} ${running} ${verdict}`);
const codesOf = (network: NetworkView | undefined): string[] => (network?.findings ?? []).map(({ code }) => code);
/** `a Works`, where no VM runs. */
const asCell = (text: string): string => `node-${text.replace(" ", " 0 ")}`;

describe("VMs of networks", () => {
  it("do not start now on a node that is lost or cordoned, or does not publish the bridge that they ask for", async () => {
    const gateway = { isGateway: true, ipam: { type: "host-local", subnet: "10.9.0.0/24" } };
    const options: InspectionFixtureOptions = {
      nodes: [
        nodeOf("node-a", ["br1"]),
        nodeOf("node-b", ["br1"], "cordoned"),
        nodeOf("node-c", [], "NotReady"),
        nodeOf("node-d", []),
      ],
      nodeMacs: [
        reportOf("node-a", [bridgeOf("br1", { vlanFiltering: false, canFilterVlans: false })]),
        reportOf("node-b", [bridgeOf("br1")]),
        reportOf("node-c", [bridgeOf("br1"), bridgeOf("br3")]),
        reportOf("node-d", [bridgeOf("br1")]),
      ],
      nads: [
        nadOf("a", "flat"),
        nadOf("a", "vlan", { config: { vlan: 5 } }),
        nadOf("a", "anywhere", { resource: null }),
        nadOf("a", "lost", { bridge: "br3" }),
        nadOf("a", "made", { bridge: "br9", resource: null, config: gateway }),
      ],
    };
    await using fixture = await InspectionFixture.start(options);
    const networks = await fixture.inspector.networks.networks({ limit: 500 }, ALL);
    const found = new Map(networks.items.map((item) => [item.name, item]));
    expect(cellsOf(found.get("flat"))).toEqual(["a Works", "b NotNow", "c NotNow", "d NotNow"].map(asCell));
    expect(found.get("flat")?.cells.map(({ reason }) => reason)).toEqual([
      undefined,
      "is cordoned",
      "is NotReady",
      "does not publish br1",
    ]);
    expect(found.get("flat")?.nodes).toMatchObject({ total: 4, withBridge: 4, works: 1, notNow: 3, noBridge: 0 });
    expect(codesOf(found.get("flat"))).not.toContain("bridge-not-now");
    expect(cellsOf(found.get("vlan"))).toEqual(["a Fails", "b NotNow", "c NotNow", "d NotNow"].map(asCell));
    expect(cellsOf(found.get("anywhere"))).toEqual(["a Works", "b NotNow", "c NotNow", "d Works"].map(asCell));
    expect(cellsOf(found.get("made"))).toEqual(["a Works", "b NotNow", "c NotNow", "d Works"].map(asCell));
    expect(found.get("made")?.nodes).toMatchObject({ withBridge: 0, works: 2, notNow: 2 });
    expect(cellsOf(found.get("lost"))).toEqual(["a NoBridge", "b NoBridge", "c NotNow", "d NoBridge"].map(asCell));
    expect(found.get("lost")?.findings).toMatchObject([
      {
        code: "bridge-not-now",
        summary: "no VM can land now",
        message: expect.stringContaining("node-c is NotReady."),
      },
    ]);
    const { items } = await fixture.inspector.networks.bridges({ limit: 100 }, ALL);
    expect(items.find(({ name }) => name === "br3")).toMatchObject({
      nodes: 1,
      on: [{ node: "node-c", notNow: "is NotReady" }],
      problems: ["no VM can land now: node-c is NotReady"],
    });
  });

  it("start again once the node takes VMs", async () => {
    const nodes = [nodeOf("node-a", ["br1"], "cordoned")];
    const nodeMacs = [reportOf("node-a", [bridgeOf("br1")])];
    await using fixture = await InspectionFixture.start({ nodes, nodeMacs, nads: [nadOf("a", "flat")] });
    const verdict = async () => {
      const { cells } = await fixture.inspector.networks.network("a", "flat", ALL);
      return cells[0]?.verdict;
    };
    expect(await verdict()).toBe("NotNow");
    await fixture.objects.tell("MODIFIED", "nodes", nodeOf("node-a", ["br1"]));
    expect(await verdict()).toBe("Works");
  });
});
