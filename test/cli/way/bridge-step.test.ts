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

describe("the step bridge of a stopped VM", () => {
  const flat = { vlanFiltering: false };

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
