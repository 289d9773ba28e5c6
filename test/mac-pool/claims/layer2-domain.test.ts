import { describe, expect, it } from "vitest";
import { areApart, domainOfConfig, joined, UNKNOWN_DOMAIN } from "../../../src/mac-pool/claims/layer2-domain.ts";

const domainOf = (config: unknown): string | undefined =>
  domainOfConfig({ namespace: "red", name: "net" }, typeof config === "string" ? config : JSON.stringify(config));

describe("the layer-2 domain of a network", () => {
  it.each([
    [{ type: "bridge", bridge: "br1" }, "bridge br1"],
    [{ type: "cnv-bridge", bridge: "br1", vlan: 10 }, "bridge br1 vlan 10"],
    [{ type: "ovs", bridge: "br1", vlan: 10 }, "bridge br1 vlan 10"],
    [{ name: "any", type: "bridge", bridge: "br1", vlan: "10" }, "bridge br1 vlan 10"],
    [{ Type: "bridge", BRIDGE: "br1", Vlan: 10 }, "bridge br1 vlan 10"],
    [{ type: "bridge", bridge: "br1", vlan: 0 }, "bridge br1"],
    [{ type: "bridge", bridge: "br1", vlan: null }, "bridge br1"],
    [{ type: "bridge", bridge: "br1", vlan: 1 }, "bridge br1"],
    [{ type: "bridge", bridge: "br1", vlan: 10, vlanTrunk: [{ id: 20 }] }, "bridge br1"],
    [{ type: "ovs", bridge: "br1", vlan: 10, trunk: [{ id: 20 }] }, "bridge br1"],
    [{ type: "bridge" }, "bridge cni0"],
    [{ type: "else", bridge: "br1", vlan: 10 }, "bridge br1"],
    [
      { name: "chain", plugins: [{ type: "bridge", bridge: "br1", vlan: 10 }, { type: "tuning" }] },
      "bridge br1 vlan 10",
    ],
    [{ name: "any", type: "macvlan", master: "eth1" }, "interface eth1"],
    [{ name: "any", type: "vlan", master: "eth1", vlanId: 10 }, "interface eth1"],
    [{ name: "blue.udn", type: "ovn-k8s-cni-overlay", topology: "layer2" }, "network blue.udn"],
    [{ type: "sriov" }, "network red/net"],
  ])("of %j is %s", (config, domain) => {
    expect(domainOf(config)).toBe(domain);
  });

  it.each([
    "",
    "{",
    "[]",
    '"bridge"',
    { type: "bridge", bridge: "br1", vlan: 4095 },
    { type: "bridge", bridge: "br1", vlan: 1.5 },
    { type: "bridge", bridge: "br1", vlan: [10] },
    { type: "bridge", bridge: ["br1"] },
    { type: "bridge", bridge: "br1 vlan 10" },
    { type: "bridge", bridge: "br1", Bridge: "br2" },
    { plugins: [] },
    { plugins: {} },
    { plugins: [{ type: "tuning" }, { type: "bridge", bridge: "br1" }] },
    {
      plugins: [
        { type: "bridge", bridge: "br1" },
        { type: "macvlan", master: "eth1" },
      ],
    },
    { name: "n".repeat(254), type: "sriov" },
  ])("of %j is not known", (config) => {
    expect(domainOf(config)).toBeUndefined();
  });
});

describe("two domains", () => {
  it.each([
    ["bridge br1 vlan 10", "bridge br1 vlan 20", true],
    ["bridge br1 vlan 10", "bridge br2 vlan 10", true],
    ["bridge br1 vlan 10", "bridge br1 vlan 10", false],
    ["bridge br1 vlan 10", "bridge br1", false],
    ["bridge br1", "bridge br2", true],
    ["bridge br1 vlan 10", "interface br1", false],
    ["interface eth1", "interface eth1", false],
    ["interface eth1", "bridge br1", true],
    ["network a", "network b", true],
    ["network a", "network a", false],
    ["network a", "bridge br1", true],
    [UNKNOWN_DOMAIN, "bridge br1", false],
    [UNKNOWN_DOMAIN, UNKNOWN_DOMAIN, false],
  ])("%s and %s are apart: %s", (one, other, apart) => {
    expect(areApart([one], [other])).toBe(apart);
    expect(areApart([other], [one])).toBe(apart);
  });

  it("are apart only where each of the one is apart from each of the other, and all are known", () => {
    expect(areApart(["bridge br1", "bridge br2"], ["bridge br3"])).toBe(true);
    expect(areApart(["bridge br1", "bridge br2"], ["bridge br3", "bridge br2"])).toBe(false);
    expect(areApart(undefined, ["bridge br1"])).toBe(false);
    expect(areApart(["bridge br1"], undefined)).toBe(false);
  });

  it("are joined for an owner that moves, up to a number that a claim has room for", () => {
    expect(joined(["bridge br1"], ["bridge br2", "bridge br1"])).toEqual(["bridge br1", "bridge br2"]);
    expect(joined(["bridge br1"], undefined)).toEqual([UNKNOWN_DOMAIN]);
    const many = Array.from({ length: 8 }, (_, number) => `bridge br${number}`);
    expect(joined(many, many)).toEqual(many);
    expect(joined(many, ["bridge br8"])).toEqual([UNKNOWN_DOMAIN]);
  });
});
