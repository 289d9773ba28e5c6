import { describe, expect, it } from "vitest";
import type { NodeBridge } from "../../../src/api/node-macs.ts";
import { kernelSteps } from "../../../src/cli/way/kernel-steps.ts";
import { onBridge } from "../../../src/cli/way/network-on-bridge.ts";
import { describeVlans } from "../../../src/nad-lint/segment.ts";
import { BRIDGE, NIC, networkOf, reportWith, UPLINK } from "./working-way.ts";

function kernel(config: object, bridge: Partial<NodeBridge>) {
  const network = onBridge({ ...NIC, network: { value: networkOf(config) } });
  if (network === undefined) throw new Error("the network is none of the bridge plugin");
  return kernelSteps({ value: [reportWith([{ ...BRIDGE, ...bridge }])] }, "node-a", network);
}

const uplinks = (...changes: object[]) => ({ uplinks: changes.map((change) => ({ ...UPLINK, ...change })) });
const VLAN = { vlan: 100 };

describe("the step kernel", () => {
  it.each<readonly [string, object, Partial<NodeBridge>, string]>([
    ["a VLAN", VLAN, {}, "frames of VLAN 100 leave node-a by eno2"],
    ["a trunk", { vlanTrunk: [{ minID: 100, maxID: 103 }] }, {}, "frames of VLANs 100-103 leave node-a by eno2"],
    ["no VLAN", {}, { vlanFiltering: false }, "untagged frames leave node-a by eno2"],
    ["no VLAN on a bridge that filters", {}, {}, "untagged frames leave node-a by eno2"],
    ["a tagged default VLAN", {}, uplinks({ untaggedVlan: 7 }), "frames of VLAN 1 leave node-a by eno2"],
    ["no uplink", VLAN, { uplinks: [] }, "no uplink: only VMs of node-a hear it"],
    [
      "the uplinks that pass it",
      VLAN,
      uplinks({}, { name: "a", carrier: false }, { name: "b", vlans: ["2"] }, { name: "c" }),
      "frames of VLAN 100 leave node-a by eno2, c",
    ],
    [
      "a smaller bridge, without an mtu of its own",
      VLAN,
      { mtu: 1400, ...uplinks({ mtu: 1400 }) },
      "frames of VLAN 100 leave node-a by eno2",
    ],
  ])("says by which uplinks frames leave: %s", (_, config, bridge, text) => {
    const { kernel: step, leaving } = kernel(config, bridge);
    expect(step.state).toBe("ok");
    expect(leaving).toEqual({ step: "frames", state: "ok", text });
  });

  it.each<readonly [string, object, Partial<NodeBridge>, string]>([
    [
      "a kernel without VLANs",
      VLAN,
      { vlanFiltering: false, canFilterVlans: false },
      "the kernel of node-a can't filter VLANs: nothing with VLAN 100 starts there",
    ],
    ["no filtering", VLAN, { vlanFiltering: false }, "br1 of node-a does not filter VLANs: VLAN 100 is not kept apart"],
    [
      "no default VLAN",
      {},
      { defaultVlan: 0 },
      "br1 of node-a filters VLANs and has no default VLAN: untagged frames are dropped",
    ],
    [
      "a smaller bridge",
      { ...VLAN, mtu: 9000 },
      {},
      "br1 of node-a has MTU 1500, the network 9000: larger frames are dropped",
    ],
    ["no carrier", VLAN, uplinks({ carrier: false }), "no carrier at eno2 of node-a: no frame leaves the node"],
    [
      "a VLAN of no uplink",
      VLAN,
      uplinks({ vlans: ["1-99"] }),
      "no uplink of br1 on node-a passes VLAN 100: frames do not leave the node",
    ],
    [
      "a VLAN only of an uplink without carrier",
      VLAN,
      uplinks({ vlans: ["1"] }, { name: "a", carrier: false }),
      "no uplink of br1 on node-a passes VLAN 100: frames do not leave the node",
    ],
    [
      "a default VLAN of no uplink",
      {},
      uplinks({ vlans: ["100"] }),
      "no uplink of br1 on node-a passes VLAN 1: frames do not leave the node",
    ],
    [
      "a smaller uplink",
      { ...VLAN, mtu: "inherit" },
      { mtu: 9000 },
      "uplink eno2 of node-a has MTU 1500, the network 9000: larger frames do not leave",
    ],
  ])("stops at %s", (_, config, bridge, text) => {
    const { kernel: step, leaving } = kernel(config, bridge);
    expect(step).toEqual({ step: "kernel", state: "wrong", text, remedy: expect.stringMatching(/.{10}/) });
    expect(leaving).toBeUndefined();
  });

  it.each<readonly [string, Partial<NodeBridge>, RegExp]>([
    ["uplinks", { uplinks: undefined as never }, /; its uplinks are not reported$/],
    [
      "VLANs of uplinks",
      { uplinks: [{ name: "eno2", carrier: true, mtu: 1500 }] },
      /; VLANs of its uplinks are not reported$/,
    ],
  ])("claims nothing where %s are not reported", (_, bridge, text) => {
    const { kernel: step, leaving } = kernel(VLAN, bridge);
    expect(step).toMatchObject({ state: "unknown", text: expect.stringMatching(text) });
    expect(leaving).toBeUndefined();
  });

  it("tells a node without the bridge from one that reports nothing", () => {
    const network = onBridge(NIC);
    const stepOf = (...reports: ReturnType<typeof reportWith>[]) =>
      network && kernelSteps({ value: reports }, "node-a", network).kernel;
    expect(stepOf(reportWith([]))).toMatchObject({ state: "wrong", text: "node-a does not report a bridge br1" });
    expect(stepOf(reportWith(undefined))).toMatchObject({
      state: "unknown",
      text: "node-a does not report its bridges",
    });
    expect(stepOf()).toMatchObject({ state: "unknown", text: "node-a does not report its bridges" });
  });
});

describe("VLANs in words", () => {
  it.each([
    [[], ""],
    [[100], "VLAN 100"],
    [[100, 101, 102, 200], "VLANs 100-102, 200"],
    [[1, 3, 5, 7, 9, 11, 13], "VLANs 1, 3, 5, 7, 9, 11 and more"],
  ])("%j", (vlans, text) => {
    expect(describeVlans(vlans)).toBe(text);
  });
});
