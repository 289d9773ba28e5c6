import { describe, expect, it } from "vitest";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import { type ClusterFacts, lintNetwork } from "../../src/nad-lint/lint.ts";
import type { BridgeOnNode } from "../../src/nad-lint/node-checks.ts";

const CONFIG = { cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br1" };
const VLAN_100 = { ...CONFIG, vlan: 100, preserveDefaultVlan: true };
const BR1 = { [NAD_RESOURCE_NAME_ANNOTATION]: "bridge.network.kubevirt.io/br1" };

function lint(config: object, annotations: Record<string, string>, surroundings: ClusterFacts) {
  return lintNetwork({ name: "br1-net", annotations, config: JSON.stringify(config) }, surroundings);
}

const codes = (...parameters: Parameters<typeof lint>): string[] => lint(...parameters).map(({ code }) => code);

describe("a VLAN that does not leave the node", () => {
  const uplinked = (node: string, ...uplinks: { name: string; vlans?: string[] }[]) => {
    return { node, mtu: 1500, vlanFiltering: true, uplinks };
  };
  const on = (network: object, ...nodes: BridgeOnNode[]) => codes(network, BR1, { bridgesOn: () => nodes });

  it("is warned of with the node, the uplink and the command", () => {
    const nodes = [
      uplinked("node-a", { name: "eno2", vlans: ["1", "100-110"] }),
      uplinked("node-b", { name: "bond0", vlans: ["1"] }, { name: "eno3", vlans: ["200"] }),
    ];
    expect(lint(VLAN_100, BR1, { bridgesOn: () => nodes })).toEqual([
      {
        code: "vlan-not-on-uplink",
        severity: "warning",
        message:
          "no uplink of br1 passes VLAN 100 on node-b: its frames do not leave the node. " +
          'Add the VLAN to the uplink there, as with "bridge vlan add dev bond0 vid 100".',
      },
    ]);
  });

  it("may be any VLAN of a trunk", () => {
    const trunk = { ...CONFIG, vlanTrunk: [{ minID: 100, maxID: 103 }, { id: 200 }] };
    const node = (...vlans: string[]) => uplinked("node-a", { name: "eno2", vlans });
    expect(on(trunk, node("100-103", "200"))).toEqual([]);
    expect(on(trunk, node("99-102", "200"))).toEqual(["vlan-not-on-uplink"]);
    const [said] = lint(trunk, BR1, { bridgesOn: () => [node("100-101")] });
    expect(said?.message).toContain("passes VLAN 102 and 2 more on node-a");
  });

  it("is no finding where one uplink passes it, and where nothing is known", () => {
    expect(
      on(VLAN_100, uplinked("node-a", { name: "eno2", vlans: ["1"] }, { name: "eno3", vlans: ["2-4094"] })),
    ).toEqual([]);
    expect(on(VLAN_100, uplinked("node-a"))).toEqual(["no-uplink"]);
    expect(on(VLAN_100, uplinked("node-a", { name: "eno2" }))).toEqual([]);
    expect(on(CONFIG, uplinked("node-a", { name: "eno2", vlans: [] }))).toEqual([]);
  });

  it("fits into a warning with the longest names", () => {
    const node = uplinked("n".repeat(253), { name: "e".repeat(15), vlans: [] });
    const network = { ...VLAN_100, bridge: "b".repeat(15), vlan: 4000, mtu: "inherit" };
    const said = lint(network, {}, { bridgesOn: () => [node] });
    const [found] = said.filter(({ code }) => code === "vlan-not-on-uplink");
    expect(found?.message).toMatch(/^.{100,256}$/);
  });

  it("is no finding where the bridge does not filter, which is warned of", () => {
    const bridge = { ...uplinked("node-a", { name: "eno2", vlans: ["1"] }), vlanFiltering: false };
    expect(on(VLAN_100, bridge)).toEqual(["vlan-unfiltered"]);
  });
});

describe("a bridge without an uplink", () => {
  const closed = { node: "node-a", mtu: 1500, vlanFiltering: true, uplinks: [] };
  const noted = (...nodes: BridgeOnNode[]) =>
    lint({ ...CONFIG, mtu: "inherit" }, BR1, { bridgesOn: () => nodes }).map(({ severity, message }) => [
      severity,
      message,
    ]);

  it("is noted, with the nodes where it has none", () => {
    const rest = "VMs reach only VMs of the same node.";
    expect(noted(closed)).toEqual([["note", `br1 has no uplink: ${rest}`]]);
    const open = { ...closed, node: "node-b", uplinks: [{ name: "eno2" }] };
    expect(noted(closed, open)).toEqual([["note", `br1 has no uplink on node-a: ${rest}`]]);
  });

  it("is not noted where the node leads out by its address, or does not say", () => {
    const { uplinks: _, ...silent } = closed;
    expect(noted({ ...closed, hasAddress: true }, { ...silent, node: "node-b" })).toEqual([]);
  });
});
