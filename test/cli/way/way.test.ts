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
    [
      "a bridge of no node",
      { nodes: { value: [{ name: "a", bridges: [], states: [] }] } },
      "bridge",
      "no node has br1",
    ],
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
    const taken = "which the pool gave to VirtualMachine default/web";
    expect(stop({ ...without, nic: { taken } })?.text).toBe(`it takes ${MAC}, ${taken}`);
    const attached = walk({ ...without, nic: { mac: undefined, taken } });
    expect(attached[0]).toMatchObject({
      state: "unknown",
      text: `no address from a pool; its network-status says ${MAC}, ${taken}`,
    });
    expect(attached.find((one) => one.step === "alone")?.text).toContain(MAC);
  });

  it("says of an address that others have as well that they do", () => {
    const shared = { at: "2026-11-21T09:14:03Z", what: "shared", mac: MAC, message: "shares it" } as const;
    expect(step("accepted", { history: { value: { ...HISTORY, history: [shared] } } })?.text).toBe(
      `${MAC}, automatic, Bound; another object has it too: kubectl macpool find ${MAC} -n lab`,
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

  it("says of a pod that the plugin refuses what to do about its node, not only where the attempts are", () => {
    const error = 'error adding container to network "blue": the plugin refuses';
    const refused = { pod: { value: podWith({ phase: "Pending" }) }, sandboxErrors: { value: [error] } };
    const on = (bridge: object) => ({ ...refused, reports: { value: [reportWith([{ ...BRIDGE, ...bridge }])] } });
    expect(stop(on({ vlanFiltering: false, canFilterVlans: false }))).toMatchObject({
      step: "attached",
      text: error,
      remedy: "Use a kernel with CONFIG_BRIDGE_VLAN_FILTERING on node-a, or a network without a VLAN.",
    });
    expect(stop(on({ vlanFiltering: false }))?.remedy).toBe("On node-a: ip link set br1 type bridge vlan_filtering 1");
    const finding = {
      code: "vlan-impossible",
      severity: "warning",
      summary: "kernel can't filter VLANs",
      message: "the kernel can't filter VLANs on node-a: pods do not start there. Use another.",
    };
    const cells = [{ node: "node-a", running: 0, verdict: "Fails" }];
    const told = {
      namespace: "lab",
      name: "blue",
      bridge: "br1",
      nodes: { works: 1 },
      cells,
      findings: [finding],
    } as never;
    const nic = { told, network: HIDDEN };
    expect(stop({ ...refused, reports: HIDDEN, nodes: HIDDEN, nic })?.remedy).toBe(
      `Tell an administrator: ${finding.message}`,
    );
    // Where the node fits, the words of the plugin are all that is known.
    expect(stop(on({}))?.remedy).toBe("kubectl describe pod launcher -n lab shows each attempt.");
  });
});
