import { describe, expect, it } from "vitest";
import { InspectionFixture, type InspectionFixtureOptions } from "../inspection-fixture.ts";
import { bridgeOf, guestOf, nadOf, reportOf } from "../networks.ts";
import { THREE_NODES } from "../three-nodes.ts";

const ALL = { namespace: undefined };

/** What consistency says of networks and bridges. */
async function told(options: InspectionFixtureOptions, namespace?: string) {
  await using fixture = await InspectionFixture.start(options);
  const { findings, total } = await fixture.inspector.consistency(undefined, { namespace });
  expect(total).toBe(findings.length);
  return findings.filter(({ network, bridge }) => (network ?? bridge) !== undefined);
}

const uplink = (carrier: boolean) => ({ uplinks: [{ name: "eth1", carrier, mtu: 1500 }] });

describe("what does not agree", () => {
  it("has what the answers about networks call wrong, with their words and remedies, and no segment that several share", async () => {
    await using fixture = await InspectionFixture.start(THREE_NODES);
    const { findings } = await fixture.inspector.consistency(undefined, ALL);
    const networks = (await fixture.inspector.networks.networks({ limit: 100 }, ALL)).items;
    expect(networks.flatMap((one) => one.findings).length).toBeGreaterThan(3);
    for (const { namespace, name, findings: own } of networks) {
      for (const { code, summary, message } of own) {
        (code === "same-network" ? expect(findings).not : expect(findings)).toContainEqual({
          code: "NETWORK_FAULTY",
          network: { namespace, name },
          message: `Network ${namespace}/${name}: ${summary}.`,
          advice: message,
        });
      }
    }
  });

  it("names VMs that wait for a node, and asks why", async () => {
    expect((await told(THREE_NODES)).filter(({ code }) => code === "VM_WAITS_FOR_NODE")).toEqual([
      {
        code: "VM_WAITS_FOR_NODE",
        network: { namespace: "tenant-lab", name: "br9" },
        message: "VM tenant-lab/nobridge waits for a node.",
        advice: "kubectl macpool explain nobridge -n tenant-lab says why.",
      },
    ]);
  });

  it("tells of an uplink that is down once, however many networks lead to the bridge, and also where none does", async () => {
    const nodeMacs = [
      reportOf("node-a", [bridgeOf("br1", uplink(true))]),
      reportOf("node-b", [bridgeOf("br1", uplink(false))]),
    ];
    const found = await told({ nodeMacs, nads: [nadOf("a", "one", { config: { vlan: 5 } }), nadOf("b", "two")] });
    expect(found).toEqual([
      {
        code: "BRIDGE_FAULTY",
        bridge: "br1",
        message: "Bridge br1: uplink is down on node-b.",
        advice: expect.stringMatching(/^bridge br1: its uplink has no carrier on node-b\. .*check its cable/),
      },
    ]);
    expect(await told({ nodeMacs })).toEqual(found);
  });

  it("has one entry for all networks with the same fault", async () => {
    const nodeMacs = [reportOf("node-a", [])];
    const nads = ["one", "two", "three"].map((name, index) =>
      nadOf("lab", name, { bridge: "br9", config: { vlan: index + 1 } }),
    );
    const found = await told({ nodeMacs, nads });
    expect(found.map(({ message }) => message)).toEqual(["Network lab/one and 2 more: no node has its bridge."]);
  });

  it("says that the MTU of a bridge differs", async () => {
    const nodeMacs = [reportOf("node-a", [bridgeOf("br1")]), reportOf("node-b", [bridgeOf("br1", { mtu: 9000 })])];
    expect(await told({ nodeMacs })).toEqual([
      {
        code: "BRIDGE_FAULTY",
        bridge: "br1",
        message: "Bridge br1: MTU differs from node to node: 1500, 9000.",
        advice: expect.stringContaining("kubectl macpool networks br1"),
      },
    ]);
  });

  it("tells the reader of one namespace of its own networks, their bridges and its own VMs", async () => {
    const found = await told(
      {
        nodeMacs: [reportOf("node-a", [bridgeOf("br1", uplink(false)), bridgeOf("br2", uplink(false))])],
        nads: [
          nadOf("mine", "net"),
          nadOf("other", "net", { bridge: "br2" }),
          nadOf("other", "away", { bridge: "br9" }),
        ],
        instances: [guestOf("mine", "web", ["net"]), guestOf("other", "db", ["mine/net"])],
      },
      "mine",
    );
    expect(found.map(({ message }) => message)).toEqual([
      "Bridge br1: uplink is down on node-a.",
      "VM mine/web waits for a node.",
    ]);
  });
});
