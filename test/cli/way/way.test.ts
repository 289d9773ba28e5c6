import { describe, expect, it } from "vitest";
import type { Step } from "../../../src/api/way.ts";
import type { WayFacts, WayInterface } from "../../../src/cli/way/facts.ts";
import { wayOf } from "../../../src/cli/way/way.ts";
import { BRIDGE, HIDDEN, HISTORY, MAC, NIC, networkOf, podWith, REFUSAL, reportWith, WORKING } from "./working-way.ts";

type Change = Partial<WayFacts> & { readonly nic?: Partial<WayInterface> };

function walk({ nic, ...facts }: Change = {}): readonly Step[] {
  return wayOf({ ...WORKING, ...facts }, { ...NIC, ...nic });
}

/** The last step, which is wrong. */
function stop(change: Change): Step | undefined {
  const last = walk(change).at(-1);
  expect(last).toMatchObject({ state: "wrong", remedy: expect.stringMatching(/.{10}/) });
  return last;
}

const step = (name: Step["step"], change: Change): Step | undefined => walk(change).find((one) => one.step === name);

describe("the way from a request to a frame", () => {
  it("is told whole where nothing is wrong", () => {
    expect(walk().map((one) => [one.state, one.step, one.text])).toEqual([
      ["ok", "accepted", `${MAC}, automatic, Bound`],
      ["ok", "network", "lab/blue: bridge br1, VLAN 100"],
      ["ok", "bridge", "2 of 3 nodes have br1: node-a, node-b"],
      ["ok", "scheduled", "pod launcher on node-a"],
      ["ok", "attached", `as pod1b2c with ${MAC}`],
      ["ok", "kernel", "br1 of node-a: MTU 1500, filters VLANs; eno2 up"],
      ["ok", "alone", `no other running object and no node has ${MAC}`],
      ["ok", "frames", "frames of VLAN 100 leave node-a by eno2"],
    ]);
  });

  it.each<readonly [string, Change, Step["step"], string]>([
    [
      "a refusal of an interface without an address",
      { nic: { mac: undefined }, history: { value: { ...HISTORY, interfaces: [], history: [REFUSAL] } } },
      "accepted",
      "refused: in use",
    ],
    [
      "a network that does not exist",
      { nic: { network: { value: undefined } } },
      "network",
      "NetworkAttachmentDefinition lab/blue does not exist: pods do not start",
    ],
    ["a bridge of no node", { nodes: { value: [{ name: "a", bridges: [] }] } }, "bridge", "no node has br1"],
    [
      "a node with the address",
      {
        history: {
          value: { ...HISTORY, interfaces: [{ ...HISTORY.interfaces[0], hostAddress: "eno1 of b" } as never] },
        },
      },
      "alone",
      `${MAC} is also the address of eno1 of b`,
    ],
  ])("stops at %s", (_, change, name, text) => {
    expect(stop(change)).toMatchObject({ step: name, text });
  });

  it("stops at an error of the lint, and passes its warnings on", () => {
    const error = stop({ nic: { network: { value: networkOf({ vlan: 9999 }) } } });
    expect(error).toMatchObject({ step: "network", text: expect.stringMatching(/^lab\/blue: .*"vlan"/) });
    const { annotations: _, ...unmarked } = networkOf({});
    const warned = step("network", { nic: { network: { value: { ...unmarked, annotations: {} } } } });
    expect(warned?.state).toBe("ok");
    expect(warned?.text).toMatch(/^lab\/blue: bridge br1\. Warning: annotation \S+resourceName is missing/);
    const ignored = { nic: { network: { value: networkOf({ vlan: 100, requireVlanFiltering: true, junk: 1 }) } } };
    expect(walk(ignored)).toHaveLength(8);
    expect(step("network", ignored)?.text).toMatch(/^lab\/blue: bridge br1, VLAN 100\. Warning: unknown key "junk" is/);
  });

  it("goes on where a later change was refused", () => {
    const facts = { history: { value: { ...HISTORY, history: [REFUSAL] } } };
    expect(step("accepted", facts)?.text).toBe(`${MAC}, automatic, Bound; its last change or start was refused`);
    expect(walk(facts)).toHaveLength(8);
    const other = { history: { value: { ...HISTORY, history: [{ ...REFUSAL, interface: "net2" }] } } };
    expect(step("accepted", other)?.text).toBe(`${MAC}, automatic, Bound`);
  });

  it("says of what is not visible that it is not, and goes on to the end", () => {
    const hidden = walk({
      history: HIDDEN,
      nodes: HIDDEN,
      reports: HIDDEN,
      collisions: HIDDEN,
      nic: { network: HIDDEN },
    });
    expect(hidden.map((one) => [one.step, one.state])).toEqual([
      ["accepted", "unknown"],
      ["network", "unknown"],
      ["bridge", "unknown"],
      ["scheduled", "ok"],
      ["attached", "ok"],
      ["kernel", "unknown"],
      ["alone", "unknown"],
      ["frames", "unknown"],
    ]);
    for (const { state, text } of hidden) if (state === "unknown") expect(text).toContain(HIDDEN.unknown);
    expect(step("bridge", { nodes: HIDDEN, reports: HIDDEN })).toMatchObject({
      state: "unknown",
      text: `nodes are ${HIDDEN.unknown}`,
    });
    expect(step("kernel", { reports: HIDDEN })).toMatchObject({
      state: "unknown",
      text: `the report of node-a is ${HIDDEN.unknown}`,
    });
    const unknownFrames = `by which uplinks frames leave node-a is ${HIDDEN.unknown}`;
    expect(step("frames", { reports: HIDDEN })?.text).toBe(unknownFrames);
  });

  it("takes the nodes of a bridge from their reports where nodes are not visible", () => {
    expect(step("bridge", { nodes: HIDDEN })?.text).toBe("the only node has br1: node-a");
    expect(stop({ nodes: HIDDEN, reports: { value: [reportWith([])] } })?.text).toBe("no node has br1");
    for (const value of [[], [reportWith([]), reportWith(undefined)]]) {
      expect(step("bridge", { nodes: HIDDEN, reports: { value } })?.state).toBe("unknown");
    }
  });

  it("takes the node from the pool where the pod is not visible, and claims no frames", () => {
    expect(walk({ pod: HIDDEN }).map((one) => [one.step, one.state])).toEqual([
      ["accepted", "ok"],
      ["network", "ok"],
      ["bridge", "ok"],
      ["scheduled", "ok"],
      ["attached", "unknown"],
      ["kernel", "ok"],
      ["alone", "ok"],
      ["frames", "unknown"],
    ]);
    expect(step("frames", { pod: HIDDEN })?.text).toContain(HIDDEN.unknown);
  });

  it("says of a stopped VM that it does not run, and what is known", () => {
    const stopped = walk({ instance: { value: undefined }, pod: { value: undefined } });
    expect(stopped.map((one) => one.step)).toEqual(["accepted", "network", "bridge", "scheduled", "alone"]);
    expect(stopped[3]).toMatchObject({
      state: "unknown",
      text: "it does not run, so nothing is scheduled or attached",
    });
  });

  it("says of a VM with the address that the pool does not manage it", () => {
    const party = { kind: "VirtualMachineInstance", namespace: "out", name: "twin", node: "node-b" } as const;
    const collision = {
      mac: MAC,
      parties: [{ ...party, isManaged: false as const }],
      elsewhere: 0,
      advice: "Stop one of them.",
    };
    expect(stop({ collisions: { value: [collision] } })).toMatchObject({
      step: "alone",
      text: `${MAC} is also in use by VirtualMachineInstance out/twin (the MAC pool does not manage it)`,
    });
  });

  it("does not take for certain what pods say of themselves", () => {
    const party = { kind: "Pod", namespace: "lab", name: "t4", saidBy: "network-status" } as const;
    const advice = "Look at its interfaces first.";
    const collision = { mac: MAC, parties: [party], elsewhere: 0, isSaid: true as const, advice };
    const known = { kind: "VirtualMachineInstance", namespace: "lab", name: "twin" } as const;
    // A VM that does not run is no party, and its twin is one that the pool knows.
    const withTwin = { ...collision, parties: [known, party] };
    expect(step("alone", { collisions: { value: [withTwin] } })?.state).toBe("wrong");
    expect(step("alone", { collisions: { value: [collision] } })).toEqual({
      step: "alone",
      state: "unknown",
      text: `by what pods say of themselves, ${MAC} is also in use by Pod lab/t4`,
      remedy: advice,
    });
  });

  it("says of an address without a claim, and of none, where to look", () => {
    const without = { history: { value: { ...HISTORY, interfaces: [] } } };
    const remedy = "kubectl macpool namespaces -n lab says whether a pool serves the namespace";
    expect(step("accepted", without)).toEqual({
      step: "accepted",
      state: "unknown",
      text: `${MAC}, for which no pool has a claim`,
      remedy,
    });
    const none = walk({ ...without, nic: { mac: undefined }, pod: { value: podWith({ phase: "Pending" }) } });
    expect(none[0]).toMatchObject({ state: "unknown", text: "no address from a pool", remedy });
    expect(none.some((one) => one.step === "alone")).toBe(false);
  });

  it("says of an address that the pool gave to others that it is taken, and who has it", () => {
    const without = { history: { value: { ...HISTORY, interfaces: [] } } };
    const holders = "VirtualMachine default/web";
    expect(stop({ ...without, nic: { holders } })?.text).toBe(`it takes ${MAC}, which the pool gave to ${holders}`);
    const attached = walk({ ...without, nic: { mac: undefined, holders } });
    expect(attached[0]).toMatchObject({
      state: "unknown",
      text: `no address from a pool; its network-status says ${MAC}, which the pool gave to ${holders}`,
    });
    expect(attached.find((one) => one.step === "alone")?.text).toContain(MAC);
  });

  it("says of an address that others have as well that they do", () => {
    const shared = { at: "2026-11-21T09:14:03Z", what: "shared", mac: MAC, message: "shares it" } as const;
    expect(step("accepted", { history: { value: { ...HISTORY, history: [shared] } } })?.text).toBe(
      `${MAC}, automatic, Bound; another object has it too: kubectl macpool find ${MAC}`,
    );
  });

  it("asks nothing of a bridge for the pod network, and for a plugin of others", () => {
    const pod = walk({ nic: { nad: undefined, network: { value: undefined } } });
    expect(pod.map((one) => one.step)).toEqual(["accepted", "network", "scheduled", "alone"]);
    expect(pod[1]?.text).toBe("the pod network, which needs no bridge of the node");
    const other = { ...networkOf({}), config: '{"type":"macvlan","name":"blue","cniVersion":"0.3.1"}' };
    const macvlan = walk({ nic: { network: { value: other } } });
    expect(macvlan.map((one) => one.step)).toEqual(["accepted", "network", "scheduled", "attached", "alone"]);
    expect(macvlan[1]?.text).toBe("lab/blue: its plugin is not the bridge plugin");
    const onNode = step("network", { nic: { network: { value: { ...other, config: "" } } } });
    expect(onNode?.text).toBe("lab/blue: its configuration is a file of each node");
  });

  it("does not ask for the bridge that the plugin makes", () => {
    const ipam = { type: "host-local", subnet: "10.1.0.0/24" };
    const value = networkOf({ isGateway: true, ipam });
    expect(step("bridge", { nodes: { value: [] }, nic: { network: { value } } })).toMatchObject({
      state: "ok",
      text: expect.stringContaining("the plugin makes br1"),
    });
  });
});

describe("the step alone", () => {
  const party = (name: string, kind = "VirtualMachine") => ({ kind, namespace: "lab", name }) as never;
  const collisions = (...parties: never[]) => ({
    value: [{ mac: MAC, parties, elsewhere: 0, advice: "Stop all but one of them." }],
  });

  it("names who runs with the same address, but not the VM's own instance", () => {
    const both = collisions(party("web", "VirtualMachineInstance"), party("db"));
    expect(stop({ collisions: both })).toMatchObject({
      step: "alone",
      text: `${MAC} is also in use by VirtualMachine lab/db`,
      remedy: "Stop all but one of them.",
    });
    const own = collisions(party("web"), party("web", "VirtualMachineInstance"));
    expect(step("alone", { collisions: own })?.state).toBe("ok");
  });

  it("counts those that the asker may not see", () => {
    const value = [{ mac: MAC, parties: [party("web")], elsewhere: 2, advice: "Stop all but one of them." }];
    expect(stop({ collisions: { value } })?.text).toBe(`${MAC} is also in use by 2 in namespaces that you may not see`);
  });

  it("does not take a claim of others for a running object without the service", () => {
    const facts = { collisions: collisions(party("db")), knowsRunning: false };
    expect(step("alone", facts)).toMatchObject({ state: "unknown", text: expect.stringContaining("lab/db") });
  });

  it("says what the pool says of a station, to a user who may not read what nodes report", () => {
    const seen = "2026-11-21T10:00:00Z";
    const place = { bridge: "br1", uplink: "eno2", lastSeen: seen, lastFlap: seen };
    const stations = (node: string) => ({
      reports: HIDDEN,
      collisions: {
        value: [{ mac: MAC, parties: [party("web")], stations: [{ node, ...place }], elsewhere: 0, advice: "" }],
      },
    });
    expect(stop(stations("node-a"))?.text).toContain("uplink eno2 of bridge br1 on node node-a");
    expect(step("alone", stations("node-b"))?.text).not.toContain("eno2");
  });

  it("says where the node of the VM has seen its address beyond an uplink", () => {
    const seen = "2026-11-21T10:00:00Z";
    const station = { mac: MAC, bridge: "br1", uplink: "eno2", vlan: 100, lastSeen: seen, lastFlap: seen };
    const came = (creationTimestamp: string, status: object = {}): Change => ({
      instance: { value: { metadata: { creationTimestamp }, status: { nodeName: "node-a", ...status } } },
      reports: { value: [{ ...reportWith([BRIDGE]), stations: [station] }] },
    });
    expect(stop(came("2026-11-21T09:00:00Z"))).toEqual({
      step: "alone",
      state: "wrong",
      text:
        `MAC ${MAC} is also used by a station outside the cluster: it was seen at VLAN 100 of uplink eno2 of bridge br1 ` +
        `on node node-a again and again, last at ${seen}`,
      remedy:
        "Give one of them another address. If nobody else has it, the network sends frames back: look for a loop.",
    });
    expect(stop({ ...came("2026-11-21T09:00:00Z"), collisions: HIDDEN })).toMatchObject({ step: "alone" });
    const both = { ...came("2026-11-21T09:00:00Z"), collisions: collisions(party("db")) };
    expect(stop(both)?.text).toBe(`${MAC} is also in use by VirtualMachine lab/db`);
    const migrating = { migrationState: {} };
    const migrated = { migrationState: { endTimestamp: "2026-11-21T09:59:30Z" } };
    for (const change of [
      came("2026-11-21T09:59:30Z"),
      came("2026-11-21T09:00:00Z", { nodeName: "node-b" }),
      came("2026-11-21T09:00:00Z", migrating),
      came("2026-11-21T09:00:00Z", migrated),
      { ...came("2026-11-21T09:00:00Z"), instance: HIDDEN },
    ]) {
      expect(step("alone", change)?.state).toBe("ok");
    }
  });

  it("looks into the reports of nodes where the pool has no claim", () => {
    const history = { value: { ...HISTORY, interfaces: [] } };
    expect(stop({ history, reports: { value: [reportWith([BRIDGE], [MAC])] } })).toMatchObject({
      step: "alone",
      text: `${MAC} is also the address of interface eno1 of node node-a`,
    });
    expect(step("alone", { history, reports: { value: [] } })).toMatchObject({
      state: "unknown",
      text: `whether a node has ${MAC} is not known: no node reports its addresses`,
    });
  });
});
