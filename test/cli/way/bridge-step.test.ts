import { describe, expect, it } from "vitest";
import type { NodeMACs } from "../../../src/api/node-macs.ts";
import type { Step } from "../../../src/api/way.ts";
import type { WayFacts } from "../../../src/cli/way/facts.ts";
import { wayOf } from "../../../src/cli/way/way.ts";
import { BRIDGE, NIC, reportWith, UPLINK, WORKING } from "./working-way.ts";

const STOPPED: WayFacts = { ...WORKING, instance: { value: undefined }, pod: { value: undefined } };
const COUNT = "2 of 3 nodes have br1: node-a, node-b";

function reportOf(name: string, bridge: object): NodeMACs {
  const { metadata, ...report } = reportWith([{ ...BRIDGE, ...bridge }]);
  return { ...report, metadata: { ...metadata, name } };
}

/** With the bridge of each node changed so. */
function bridgeStep(a: object, b: object, facts = STOPPED): Step | undefined {
  const reports = { value: [reportOf("node-a", a), reportOf("node-b", b)] };
  return wayOf({ ...facts, reports }, NIC).find(({ step }) => step === "bridge");
}

const flat = { vlanFiltering: false };

describe("the step bridge of a stopped VM", () => {
  it("says that no VM can land on the nodes with the bridge, by the nodes and by what they report", () => {
    const nodes = (a: readonly string[], b: readonly string[], bridges: readonly string[] = ["br1"]) => ({
      value: [
        { name: "node-a", states: a, bridges },
        { name: "node-b", states: b, bridges },
        { name: "node-c", states: [], bridges: [] },
      ],
    });
    expect(bridgeStep({}, {}, { ...STOPPED, nodes: nodes(["NotReady", "cordoned"], ["cordoned"]) })).toEqual({
      step: "bridge",
      state: "wrong",
      text:
        "2 of 3 nodes have br1: node-a (NotReady, cordoned), node-b (cordoned). No VM can land now: " +
        "node-a is NotReady and cordoned, and the other takes no VM either",
      remedy: "Bring node-a back (kubectl describe node node-a says why it is NotReady), or make br1 on another node.",
    });
    expect(bridgeStep({}, {}, { ...STOPPED, nodes: nodes([], [], []) })?.text).toBe(
      `${COUNT}. No VM can land now: node-a does not publish br1, and the other takes no VM either`,
    );
    const half = { ...STOPPED, nodes: nodes([], ["cordoned"]) };
    expect(bridgeStep({}, flat, half)).toEqual({ step: "bridge", state: "ok", text: `${COUNT} (cordoned)` });
    expect(bridgeStep(flat, {}, half)?.text).toContain("It starts on none");
  });

  it("says that it starts on no node, where the view of its network says so", () => {
    expect(bridgeStep(flat, flat)).toEqual({
      step: "bridge",
      state: "wrong",
      text:
        `${COUNT}. It starts on none: br1 does not filter VLANs on both nodes, such as node-a. Pods do not start there. ` +
        "Set vlan_filtering 1 on the bridge.",
      remedy: "kubectl macpool network blue -n lab shows each node.",
    });
    expect(bridgeStep({ canFilterVlans: false, vlanFiltering: false }, flat)?.state).toBe("wrong");
  });

  it("warns where some nodes refuse it, or frames would be lost", () => {
    expect(bridgeStep(flat, {})).toMatchObject({
      state: "ok",
      text: expect.stringContaining(`${COUNT}. Warning: br1 does not filter VLANs on node-a. `),
    });
    const elsewhere = { uplinks: [{ ...UPLINK, vlans: ["1"] }] };
    expect(bridgeStep(elsewhere, {})?.text).toContain("Warning: no uplink of br1 passes VLAN 100 on node-a");
    expect(bridgeStep({}, {})).toEqual({ step: "bridge", state: "ok", text: COUNT });
  });

  it("leaves that to the kernel of its node once it has one", () => {
    expect(bridgeStep(flat, flat, WORKING)).toEqual({ step: "bridge", state: "ok", text: COUNT });
  });
});
