import { describe, expect, it } from "vitest";
import { parseLinkEvent } from "../../src/links/link-event.ts";

const REPORT = { plugin: "bridge", command: "ADD", code: 0, ms: 1.5 };

describe("a line of the link monitor", () => {
  it("is read for what marker and agent need", () => {
    const line =
      '{"event":"link","index":3,"name":"br1","kind":"bridge","up":true,"master":0,"mac":"02:00:00:00:00:01","mtu":1500}';
    expect(parseLinkEvent(line)).toEqual({
      event: "link",
      index: 3,
      name: "br1",
      kind: "bridge",
      master: 0,
      mac: "02:00:00:00:00:01",
      permanentMac: undefined,
      mtu: 1500,
      vlanFiltering: false,
      details: { defaultVlan: undefined, spanningTree: false, hasAddress: false },
    });
    expect(parseLinkEvent('{"event":"gone","index":3,"name":"br1"}')).toEqual({ event: "gone", index: 3 });
  });

  it.each([
    [
      { kind: "bridge", defaultVlan: 1, spanningTree: true, hasAddress: true },
      { defaultVlan: 1, spanningTree: true, hasAddress: true },
    ],
    [
      { kind: "bridge", canFilterVlans: false },
      { canFilterVlans: false, spanningTree: false, hasAddress: false },
    ],
    [
      { kind: "bond", carrier: false, vlans: ["1", "100-110"], untaggedVlan: 1 },
      { carrier: false, vlans: ["1", "100-110"], untaggedVlan: 1 },
    ],
    [
      { kind: "", carrier: true },
      { carrier: true, vlans: undefined, untaggedVlan: undefined },
    ],
    [{ kind: "veth" }, undefined],
  ])("%j says of a bridge or an uplink how it is set", (more, details) => {
    const line = JSON.stringify({ event: "link", index: 3, name: "x", ...more });
    expect(parseLinkEvent(line)).toMatchObject(details === undefined ? { kind: "veth" } : { details });
    expect("details" in (parseLinkEvent(line) ?? {})).toBe(details !== undefined);
  });

  it.each(["synced", "resync", "lost", "alive", "namespace-gone"])("is read where it is no more than %s", (event) => {
    expect(parseLinkEvent(JSON.stringify({ event, more: 1 }))).toEqual({ event });
  });

  it.each([
    [{ ...REPORT, network: "net" }, REPORT],
    [{ plugin: "bridge" }, undefined],
    [{ ...REPORT, ms: Number.POSITIVE_INFINITY }, undefined],
  ])("may have the report %j, understood as %j: anybody may send one", (sent, report) => {
    expect(parseLinkEvent(JSON.stringify({ event: "report", ...sent }))).toEqual({ event: "report", report });
  });

  it("has the stations that are seen, without those that can't be understood", () => {
    const stations = [[0x02_00_00_00_00_01, 4, 100, 5, 65], [0x02_00_00_00_00_02, 4, 0, 0, -1], [1, "4"], null];
    expect(parseLinkEvent(JSON.stringify({ event: "stations", stations, more: 7 }))).toEqual({
      event: "stations",
      stations: [
        { mac: 0x02_00_00_00_00_01, port: 4, vlan: 100, age: 5, flapAge: 65 },
        { mac: 0x02_00_00_00_00_02, port: 4, vlan: 0, age: 0, flapAge: undefined },
      ],
      more: 7,
    });
  });

  it.each(["", "null", "42", "{", '{"event":"link"}', '{"event":"link","index":"3","name":"x"}', '{"event":"news"}'])(
    "is refused when it is %j",
    (line) => {
      expect(parseLinkEvent(line)).toBeUndefined();
    },
  );
});
