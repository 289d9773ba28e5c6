import { describe, expect, it } from "vitest";
import { lintNetwork } from "../../src/nad-lint/lint.ts";

const CONFIG = { cniVersion: "0.3.1", name: "net", type: "cnv-bridge", bridge: "br1", mtu: "inherit" };
const ANNOTATIONS = { "k8s.v1.cni.cncf.io/resourceName": "bridge.network.kubevirt.io/br1" };
const NODES = [
  { node: "node-a", mtu: 1500, vlanFiltering: true },
  { node: "node-b", mtu: 1500, vlanFiltering: false, canFilterVlans: false },
];

const lint = (more: object) => {
  const network = { name: "net", annotations: ANNOTATIONS, config: JSON.stringify({ ...CONFIG, ...more }) };
  return lintNetwork(network, { bridgesOn: () => NODES }).filter(({ severity }) => severity !== "note");
};

describe("a kernel that can't filter VLANs", () => {
  it.each([
    { vlan: 100 },
    { vlan: 100, requireVlanFiltering: true },
    { vlan: 100, enableVlanFiltering: true },
    { vlanTrunk: [{ id: 100 }] },
  ])("does not start pods with %j, and that is warned of", (more) => {
    expect(lint(more)).toEqual([
      {
        code: "vlan-impossible",
        severity: "warning",
        message:
          "the kernel can't filter VLANs on node-b: pods do not start there. Use a kernel with " +
          'CONFIG_BRIDGE_VLAN_FILTERING there, or a network without "vlan" and "vlanTrunk".',
      },
    ]);
  });

  it("is no obstacle to a network without VLANs", () => {
    expect(lint({})).toEqual([]);
  });
});
