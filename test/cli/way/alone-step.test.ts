import { describe, expect, it } from "vitest";
import type { Step } from "../../../src/api/way.ts";
import type { KnownHistory } from "../../../src/cli/backends/pool-backend.ts";
import type { WayFacts, WayInterface } from "../../../src/cli/way/facts.ts";
import { wayOf } from "../../../src/cli/way/way.ts";
import type { UsedNowView } from "../../../src/mac-pool/inspection/rest/views.ts";
import { BRIDGE, HIDDEN, HISTORY, MAC, NIC, REFUSAL, reportWith, WORKING } from "./working-way.ts";

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
    expect(stop({ collisions: { value } })?.text).toBe(
      `${MAC} is also in use by 2 objects in namespaces that you may not see`,
    );
  });

  it("does not count the VM of a launcher", () => {
    const nic = { ...HISTORY.interfaces[0], holder: { kind: "VirtualMachine", name: "web" } } as never;
    const owner = { kind: "Pod", namespace: "lab", name: "launcher" } as const;
    const history = { value: { ...HISTORY, ...owner, interfaces: [nic] } };
    const instance = party("web", "VirtualMachineInstance");
    const ofLauncher = { owner, history, instance: undefined, machine: undefined };
    expect(stop({ ...ofLauncher, collisions: collisions(instance, party("db")) })?.text).toBe(
      `${MAC} is also in use by VirtualMachine lab/db`,
    );
    expect(step("alone", { ...ofLauncher, collisions: collisions(instance) })?.state).toBe("ok");
  });

  it("is not sure where the pool lists a part of the collisions", () => {
    expect(step("alone", { moreCollisions: 3 })).toMatchObject({
      state: "unknown",
      text: `whether others have ${MAC} is not known: the pool's list of collisions leaves out 3`,
    });
    expect(stop({ moreCollisions: 3, collisions: collisions(party("db")) })?.step).toBe("alone");
  });

  it("says of one that it knows by claims alone no more than these tell", () => {
    expect(step("alone", { knowsRunning: false })).toMatchObject({
      state: "ok",
      text: `no claim gives ${MAC} to another object, and no node has it`,
    });
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

  describe("of a VM that does not run", () => {
    const refusal = { ...REFUSAL, code: "MACPOOL_RUNNING", message: "can't start: twin has the same MAC" };
    const twin = { kind: "VirtualMachineInstance", namespace: "lab", name: "twin" } as const;
    const [nic] = HISTORY.interfaces;
    const stopped = (usedNow?: UsedNowView, history: KnownHistory["history"] = [refusal]): Change => ({
      instance: { value: undefined },
      pod: { value: undefined },
      history: { value: { ...HISTORY, interfaces: [{ ...nic, ...(usedNow && { usedNow }) } as never], history } },
    });

    it("says who runs or starts with the address, as the refusal of its start does", () => {
      const text = `${MAC} is also in use by VirtualMachineInstance lab/twin`;
      expect(stop(stopped({ parties: [twin], elsewhere: 0 }))).toMatchObject({ step: "alone", text });
      const starting = stop(stopped({ parties: [{ ...twin, notRunningYet: true }], elsewhere: 0 }));
      expect(starting?.text).toBe(`${text} (starting)`);
      expect(stop(stopped({ parties: [], elsewhere: 2 }))?.text).toBe(
        `${MAC} is also in use by 2 objects in namespaces that you may not see`,
      );
    });

    it("is not sure of what pods say of themselves", () => {
      const pod = { kind: "Pod", namespace: "lab", name: "t4", saidBy: "network-status" } as const;
      expect(step("alone", stopped({ parties: [pod], elsewhere: 0, isSaid: true }))?.state).toBe("unknown");
    });

    it("says of one that was refused that nobody has the address any more", () => {
      const text = `no other running object and no node has ${MAC}`;
      expect(step("alone", stopped())).toMatchObject({
        state: "ok",
        text: `${text} now; one had it when the start was refused`,
      });
      expect(step("alone", stopped(undefined, []))?.text).toBe(text);
      expect(step("alone", stopped(undefined, [REFUSAL]))?.text).toBe(text);
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
      text: `nothing else that the pool knows runs with ${MAC}; by what pods say of themselves, it is also in use by Pod lab/t4`,
      remedy: advice,
    });
    const asking = { ...collision, parties: [{ ...party, asksForIt: true as const }] };
    expect(step("alone", { collisions: { value: [asking] } })?.text).toMatch(
      /by what pods say of themselves, it is also in use by Pod lab\/t4 \(asks for it\)$/,
    );
  });
});
