import { describe, expect, it } from "vitest";
import { wayOf } from "../../../src/cli/way/way.ts";
import type { BridgeView, NetworkView } from "../../../src/mac-pool/inspection/rest/views.ts";
import { HIDDEN, MAC, NIC, WORKING } from "./working-way.ts";

const NODES = { total: 3, withBridge: 1, works: 1, warning: 0, fails: 0, notNow: 0, noBridge: 2, unknown: 0 };
const TOLD: NetworkView = {
  ...{ namespace: "lab", name: "blue", type: "cnv-bridge", bridge: "br1", vlan: 100, spoofCheck: false },
  ...{ running: 1, pending: 0, starting: 0, pods: 0, usedBy: ["lab"], waiting: [], findings: [], moreFindings: 0 },
  nodes: NODES,
  cells: [{ node: "node-a", running: 1, verdict: "Works" }],
};
const BRIDGE_TOLD: BridgeView = {
  ...{ name: "br1", nodes: 1, totalNodes: 3, mtus: [1500], filtering: "on", uplink: "up", networks: 1, running: 1 },
  on: [{ node: "node-a", mtu: 1500, vlanFiltering: true, uplink: "up", running: 1 }],
  ...{ problems: [], notes: [] },
};
const error = {
  code: "plugin-refuses",
  severity: "error",
  summary: "refused",
  message: "the plugin refuses it",
} as const;

function walk(told: Partial<NetworkView> = {}, sees: Partial<typeof WORKING> = {}, toldBridge?: BridgeView) {
  const facts = { ...WORKING, nodes: HIDDEN, reports: HIDDEN, ...sees };
  return wayOf(facts, { ...NIC, network: HIDDEN, told: { ...TOLD, ...told }, toldBridge });
}

describe("the way of a network that only the service tells of", () => {
  it("says why no VM can land on the nodes with the bridge", () => {
    const lost = { node: "node-c", running: 0, verdict: "NotNow", reason: "is NotReady and cordoned" } as const;
    const stopped = { instance: { value: undefined }, pod: { value: undefined } };
    const told = { nodes: { ...NODES, works: 0, notNow: 1 }, cells: [lost] };
    expect(walk(told, stopped).find(({ state }) => state === "wrong")).toEqual({
      step: "bridge",
      state: "wrong",
      text: "1 of 3 nodes has br1: node-c. No VM can land now: node-c is NotReady and cordoned",
      remedy: "Ask an administrator to let VMs on node-c again, or to make br1 on another node.",
    });
    expect(walk(told).find(({ step }) => step === "bridge")?.state).toBe("ok");
  });

  it("is whole, and says which right shows the rest", () => {
    expect(walk().map((one) => [one.state, one.step, one.text])).toEqual([
      ["ok", "accepted", `${MAC}, automatic, Bound`],
      ["ok", "network", "lab/blue: bridge br1, VLAN 100"],
      ["ok", "bridge", "1 of 3 nodes has br1: node-a"],
      ["ok", "scheduled", "pod launcher on node-a"],
      ["ok", "attached", `as pod1b2c with ${MAC}`],
      ["ok", "kernel", `node-a fits lab/blue; MTU and uplinks there are ${HIDDEN.unknown}`],
      ["ok", "alone", `no other running object and no node has ${MAC}`],
      ["unknown", "frames", `by which uplinks frames leave node-a is ${HIDDEN.unknown}`],
    ]);
  });

  it.each<readonly [string, Partial<NetworkView>, string, string]>([
    ["an error of the lint", { findings: [error] }, "network", "lab/blue: the plugin refuses it"],
    [
      "a node that does not fit",
      { cells: [{ node: "node-a", running: 1, verdict: "Warning" }] },
      "kernel",
      "on node-a, not all is as lab/blue says",
    ],
    [
      "a node where nothing starts",
      { cells: [{ node: "node-a", running: 1, verdict: "Fails" }] },
      "kernel",
      "on node-a, nothing on lab/blue starts or gets a connection",
    ],
  ])("ends at %s", (_, told, name, text) => {
    const remedy = "kubectl macpool network blue -n lab says what is wrong.";
    expect(walk(told).at(-1)).toEqual({ step: name, state: "wrong", text, remedy });
  });

  it.each<readonly [string, Partial<BridgeView>, string, string]>([
    [
      "an uplink that is up",
      {},
      "br1 of node-a: MTU 1500, filters VLANs; an uplink up",
      `frames of VLAN 100 leave node-a by an uplink that is up; its name is ${HIDDEN.unknown}`,
    ],
    [
      "no uplink",
      { on: [{ node: "node-a", mtu: 9000, vlanFiltering: false, uplink: "none", running: 1 }] },
      "br1 of node-a: MTU 9000; no uplink",
      "no uplink: only VMs of node-a hear it",
    ],
    [
      "no uplink on any of many nodes",
      { on: [], uplink: "none" },
      "br1 of node-a: MTU 1500, filters VLANs; no uplink",
      "no uplink: only VMs of node-a hear it",
    ],
    [
      "one that is not as on most, nobody says where",
      { on: [], mtus: [1500, 9000] },
      `node-a fits lab/blue; MTU and uplinks there are ${HIDDEN.unknown}`,
      `by which uplinks frames leave node-a is ${HIDDEN.unknown}`,
    ],
  ])("tells of the bridge what the service tells: %s", (_, told, kernel, frames) => {
    const steps = walk({}, {}, { ...BRIDGE_TOLD, ...told });
    const texts = Object.fromEntries(steps.map(({ step, text }) => [step, text]));
    expect(texts).toMatchObject({ kernel, frames });
  });

  it("ends at uplinks without a carrier", () => {
    const on = [{ node: "node-a", mtu: 1500, vlanFiltering: true, uplink: "down" as const, running: 1 }];
    expect(walk({}, {}, { ...BRIDGE_TOLD, on }).at(-1)).toEqual({
      step: "kernel",
      state: "wrong",
      text: "no carrier at the uplinks of br1 on node-a: no frame leaves the node",
      remedy: "Ask an administrator to look at the cable, and at the port of the switch.",
    });
  });

  it("says where a VM without a node could start", () => {
    const stopped = { pod: { value: undefined }, instance: { value: undefined } };
    const bridgeOf = (nodes: Partial<typeof NODES>) =>
      walk({ nodes: { ...NODES, ...nodes } }, stopped).find(({ step }) => step === "bridge");
    expect(bridgeOf({})).toMatchObject({ state: "ok" });
    expect(bridgeOf({ works: 0, fails: 1 })).toMatchObject({
      state: "wrong",
      text: expect.stringContaining("It starts on none"),
    });
  });

  it("tells a warning of the nodes where it says which have the bridge, and another one with the network", () => {
    const same = {
      code: "same-network",
      severity: "warning",
      summary: "",
      message: "another leads there too",
    } as const;
    const mtu = {
      code: "mtu-below-bridge",
      severity: "warning",
      summary: "",
      message: "br1 has an MTU above",
    } as const;
    const stopped = { pod: { value: undefined }, instance: { value: undefined } };
    const warned = walk({ findings: [mtu, same] }, stopped).filter(({ text }) => text.includes("Warning"));
    expect(warned.map(({ step, text }) => [step, text])).toEqual([
      ["network", "lab/blue: bridge br1, VLAN 100. Warning: another leads there too"],
      ["bridge", "1 of 3 nodes has br1: node-a. Warning: br1 has an MTU above"],
    ]);
  });

  it("names the right for each step where nobody tells of the network, nor of the pod", () => {
    const facts = { ...WORKING, pod: HIDDEN, history: HIDDEN, nodes: HIDDEN, reports: HIDDEN };
    const steps = wayOf(facts, { ...NIC, network: HIDDEN });
    const ofNode = steps.filter(({ step }) => ["bridge", "attached", "kernel", "frames"].includes(step));
    expect(ofNode.map(({ step, state }) => [step, state])).toEqual([
      ["bridge", "unknown"],
      ["attached", "unknown"],
      ["kernel", "unknown"],
      ["frames", "unknown"],
    ]);
    for (const { text } of ofNode) expect(text).toContain(HIDDEN.unknown);
  });
});
