import { describe, expect, it } from "vitest";
import { type Mac, parseMac } from "../../src/api/mac.ts";
import type { NodeMACs, NodeStation } from "../../src/api/node-macs.ts";
import { flappingMacs, flapsOf, isElsewhere, seenElsewhere } from "../../src/api/seen-elsewhere.ts";
import { seatOfObject } from "../../src/mac-pool/objects/running.ts";

const TEXT = "02:5d:1c:00:00:a3";
const MAC = parseMac(TEXT) as Mac;
const NOON_MS = Date.UTC(2026, 0, 2, 12);
const at = (seconds: number): string => `${new Date(NOON_MS + seconds * 1000).toISOString().slice(0, 19)}Z`;

const station = (more: Partial<NodeStation> = {}): NodeStation => ({
  mac: TEXT,
  bridge: "br1",
  uplink: "eno2",
  lastSeen: at(0),
  ...more,
});

const reportOf = (node: string, stations: readonly NodeStation[], owner = node): NodeMACs => ({
  metadata: { name: node, ownerReferences: [{ apiVersion: "v1", kind: "Node", name: owner, uid: "u" }] },
  addresses: [],
  stations,
});

const instance = (status: object) => ({ metadata: { name: "web", creationTimestamp: at(0) }, status });

describe("an address that is used outside of the cluster", () => {
  const flap = (seconds: number, node = "node-a") => ({ node, station: station({ lastFlap: at(seconds) }) });
  const runsOn = (node: string, migrationState?: object) =>
    seatOfObject(instance({ nodeName: node, ...(migrationState && { migrationState }) }));

  it("is one that the node of its object has found on both sides a minute after the object came", () => {
    expect(isElsewhere(runsOn("node-a"), flap(61))).toBe(true);
    expect(isElsewhere(runsOn("node-a"), flap(60))).toBe(false);
  });

  it("is none that another node has found: the frames of an object come over the uplinks of all others", () => {
    expect(isElsewhere(runsOn("node-b"), flap(600))).toBe(false);
  });

  it("is none while a live migration runs, nor in the minute after it", () => {
    expect(isElsewhere(runsOn("node-a", { startTimestamp: at(300) }), flap(600))).toBe(false);
    const migrated = runsOn("node-a", { startTimestamp: at(300), endTimestamp: at(310) });
    expect(isElsewhere(migrated, flap(370))).toBe(false);
    expect(isElsewhere(migrated, flap(371))).toBe(true);
  });

  it("is none while another object of the cluster has it on another node, or migrates", () => {
    const [here, there] = [runsOn("node-a"), runsOn("node-b")];
    expect(isElsewhere(here, flap(600), [here, here])).toBe(true);
    expect(isElsewhere(here, flap(600), [here, there])).toBe(false);
    expect(isElsewhere(here, flap(600), [here, undefined])).toBe(false);
  });

  it("is none of what was found before the object was made anew", () => {
    expect(isElsewhere(runsOn("node-a"), flap(-600))).toBe(false);
  });

  it("is none of an object that runs nowhere yet", () => {
    expect(isElsewhere(seatOfObject(instance({})), flap(600))).toBe(false);
  });

  it("is found for a pod too", () => {
    const pod = { metadata: { name: "web", creationTimestamp: at(0) }, spec: { nodeName: "node-a" } };
    expect(isElsewhere(seatOfObject(pod), flap(61))).toBe(true);
  });

  it("is told with uplink, bridge, node, VLAN and time", () => {
    const found = { node: "node-a", station: station({ vlan: 100, lastFlap: at(0) }) };
    expect(seenElsewhere(MAC, found)).toBe(
      `MAC ${TEXT} is also used by a station outside the cluster: it was seen at VLAN 100 of uplink eno2 of bridge br1 on ` +
        "node node-a again and again, last at 2026-01-02T12:00:00Z. Give one of them another address. If nobody else has " +
        "it, the network sends frames back: look for a loop.",
    );
    expect(seenElsewhere(MAC, { node: "node-a", station: station() })).toContain("seen at uplink eno2");
  });
});

describe("what reports say of addresses on both sides of an uplink", () => {
  it("is of those that flap alone", () => {
    const report = reportOf("node-a", [
      station(),
      station({ vlan: 7, lastFlap: at(0) }),
      station({ mac: "02:00:00:00:00:01" }),
    ]);
    expect(flappingMacs(report)).toEqual([TEXT]);
    expect(flapsOf(MAC, [report])).toEqual([{ node: "node-a", station: station({ vlan: 7, lastFlap: at(0) }) }]);
  });

  it("does not count where the node does not own its report", () => {
    expect(flapsOf(MAC, [reportOf("node-a", [station({ lastFlap: at(0) })], "node-b")])).toEqual([]);
  });
});
