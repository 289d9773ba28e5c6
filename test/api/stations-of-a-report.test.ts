import { describe, expect, it } from "vitest";
import { stationsIn } from "../../src/api/host-interfaces.ts";
import { parseMac } from "../../src/api/mac.ts";
import type { NodeMACs } from "../../src/api/node-macs.ts";
import { MAX_STATIONS } from "../../src/api/node-state.ts";

describe("the stations of a report", () => {
  const station = { mac: "02:5d:1c:00:00:00", bridge: "br1", uplink: "eno2", lastSeen: "2026-01-02T12:00:00Z" };
  const report = (owner: string, ...macs: string[]): NodeMACs => ({
    metadata: { name: "node-a", ownerReferences: [{ apiVersion: "v1", kind: "Node", name: owner, uid: "u" }] },
    addresses: [],
    stations: macs.map((mac) => ({ ...station, mac })),
  });

  it("count as long as the node lives, where an interface can have their address", () => {
    expect(stationsIn(report("node-a", station.mac, "01:00:5e:00:00:01", "00:00:00:00:00:00", "x"))).toEqual([
      {
        mac: parseMac(station.mac),
        host: { node: "node-a", interface: "eno2", isBeyond: true },
        seenMs: Date.parse(station.lastSeen),
      },
    ]);
    expect(stationsIn(report("node-b", station.mac))).toEqual([]);
    expect(stationsIn(report("node-a", ...Array.from({ length: 999 }, () => station.mac)))).toHaveLength(MAX_STATIONS);
  });
});
