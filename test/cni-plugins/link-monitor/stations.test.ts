import { beforeEach, describe, expect, it } from "vitest";
import { type StationQuery, Stations } from "../../../cni-plugins/link-monitor/stations.ts";
import { MAX_STATIONS } from "../../../src/api/node-state.ts";

const FIRST = 0x02_5d_1c_00_00_00;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const QUERY: StationQuery = {
  ranges: [
    [0x02_00_00_00_00_01, 0x02_00_00_00_00_0f],
    [FIRST, FIRST + 0xffff],
  ],
  seed: 1,
};
const UPLINK = 3;
const OTHER_UPLINK = 4;
const TAP = 9;

let stations: Stations;
let nowMs: number;

beforeEach(() => {
  stations = new Stations(QUERY);
  nowMs = 0;
});

const learned = (mac: number, port: number, vlan = 0, bridge = 2) => ({ mac, port, vlan, bridge, ageMs: 0 });

/** A bridge learns the address there, a second after the time before. */
function move(mac: number, port: number, vlan = 0, bridge = 2): void {
  nowMs += SECOND_MS;
  stations.learned(learned(mac, port, vlan, bridge), port !== TAP, nowMs);
}

function dump(...entries: readonly (readonly [mac: number, ageMs: number])[]): void {
  stations.beginDump(nowMs);
  for (const [mac, ageMs] of entries) stations.listed({ ...learned(mac, UPLINK), ageMs }, nowMs);
}

const seen = () => stations.print(nowMs).stations;
const macs = () => seen().map(([mac]) => mac);
const hasFlapped = () => seen().some(([, , , , flapAge]) => flapAge >= 0);

describe("the stations beyond a node's uplinks", () => {
  it("are those of the ranges alone, and none at a port of the node", () => {
    for (const mac of [FIRST - 1, FIRST, FIRST + 0xffff, FIRST + 0x10000, 0x02_00_00_00_00_10]) move(mac, UPLINK);
    move(FIRST + 1, TAP);
    expect(macs()).toEqual([FIRST, FIRST + 0xffff]);
  });

  it("are told with uplink, VLAN and the seconds since each was seen", () => {
    move(FIRST, UPLINK, 100);
    nowMs += 5 * SECOND_MS;
    expect(stations.print(nowMs)).toEqual({ stations: [[FIRST, UPLINK, 100, 5, -1]], more: 0 });
  });

  it("stay for ten minutes after the last frame, which the dump tells", () => {
    move(FIRST, UPLINK);
    nowMs += 9 * MINUTE_MS;
    dump([FIRST, 2 * MINUTE_MS]);
    expect(seen()).toEqual([[FIRST, UPLINK, 0, 120, -1]]);
    nowMs += 8 * MINUTE_MS;
    dump();
    expect(macs()).toEqual([FIRST]);
    nowMs += SECOND_MS;
    dump();
    expect(macs()).toEqual([]);
  });

  it("do not come back with an entry that the bridge keeps for longer", () => {
    dump([FIRST, 10 * MINUTE_MS + SECOND_MS]);
    expect(macs()).toEqual([]);
  });

  it("are news when they come, change their uplink or go, and not when they are seen again", () => {
    const isNews = (): boolean => {
      const { isChanged } = stations;
      stations.print(nowMs);
      return isChanged;
    };
    expect(isNews()).toBe(true);
    move(FIRST, UPLINK);
    expect(isNews()).toBe(true);
    dump([FIRST, 0]);
    expect(isNews()).toBe(false);
    move(FIRST, OTHER_UPLINK);
    expect(isNews()).toBe(true);
    nowMs += 11 * MINUTE_MS;
    dump();
    expect(isNews()).toBe(true);
  });

  it("are as many as a report may have, the rest is counted", () => {
    const many = Array.from({ length: MAX_STATIONS + 44 }, (_, number): [number, number] => [FIRST + number, 0]);
    dump(...many);
    const { stations: some, more } = stations.print(nowMs);
    expect([some.length, more]).toEqual([MAX_STATIONS, 44]);
    dump(...many.toReversed());
    expect(stations.isChanged).toBe(false);
    expect(new Set(macs())).toEqual(new Set(some.map(([mac]) => mac)));
  });

  it("are others on a node with another seed, where there are too many", () => {
    const many = Array.from({ length: 4 * MAX_STATIONS }, (_, number): [number, number] => [FIRST + number, 0]);
    const reported = new Set<number>();
    for (let seed = 0; seed < 64; seed++) {
      stations = new Stations({ ...QUERY, seed });
      dump(...many);
      for (const mac of macs()) reported.add(mac);
    }
    expect(reported.size).toBe(many.length);
  });
});

describe("an address on both sides of an uplink", () => {
  const backAndForth = (times: number, mac = FIRST): void => {
    for (let time = 0; time < times; time++) {
      move(mac, TAP);
      move(mac, UPLINK);
    }
  };

  it("flaps with the third move from a port of the node within a minute", () => {
    backAndForth(2);
    expect(hasFlapped()).toBe(false);
    backAndForth(1);
    expect(seen()).toEqual([[FIRST, UPLINK, 0, 0, 0]]);
  });

  it("does not flap while a VM migrates to and fro", () => {
    for (let time = 0; time < 5; time++) {
      backAndForth(1);
      nowMs += 29 * SECOND_MS;
    }
    expect(hasFlapped()).toBe(false);
  });

  it("does not flap between two uplinks, nor in two VLANs or bridges", () => {
    for (let time = 0; time < 5; time++) {
      move(FIRST, UPLINK);
      move(FIRST, OTHER_UPLINK);
    }
    for (let vlan = 1; vlan < 6; vlan++) {
      move(FIRST, TAP, 100);
      move(FIRST, UPLINK, vlan);
      move(FIRST, TAP, 0, 12);
      move(FIRST, UPLINK, 0, 2);
    }
    expect(hasFlapped()).toBe(false);
  });

  it("is told as long as a station that is silent, and is news when it begins", () => {
    backAndForth(2);
    stations.print(nowMs);
    backAndForth(1);
    expect(stations.isChanged).toBe(true);
    expect(hasFlapped()).toBe(true);
    backAndForth(1);
    expect(stations.isChanged).toBe(false);
    nowMs += 10 * MINUTE_MS;
    dump([FIRST, 0]);
    expect(seen()).toEqual([[FIRST, UPLINK, 0, 0, 600]]);
    nowMs += SECOND_MS;
    expect(seen()).toEqual([[FIRST, UPLINK, 0, 1, -1]]);
  });

  it("gets its place among too many stations", () => {
    const last = FIRST + 0xffff;
    dump(...Array.from({ length: 2 * MAX_STATIONS }, (_, number): [number, number] => [FIRST + number, 0]));
    backAndForth(3, last);
    expect(macs()).toHaveLength(MAX_STATIONS);
    expect(seen()).toContainEqual([last, UPLINK, 0, 0, 0]);
  });

  it("flaps outside the ranges too, where a port of the node has it, and is told no longer than it does", () => {
    const outside = FIRST - 1;
    backAndForth(2, outside);
    dump([outside, 0]);
    expect(seen()).toEqual([]);
    backAndForth(1, outside);
    expect(seen()).toEqual([[outside, UPLINK, 0, 0, 0]]);
    nowMs += 9 * MINUTE_MS;
    dump([FIRST, 0], [outside, 0]);
    expect(seen()).toEqual([
      [outside, UPLINK, 0, 0, 540],
      [FIRST, UPLINK, 0, 0, -1],
    ]);
    nowMs += 2 * MINUTE_MS;
    dump([FIRST, 0], [outside, 0]);
    expect(stations.print(nowMs)).toEqual({ stations: [[FIRST, UPLINK, 0, 0, -1]], more: 0 });
  });

  it("is none outside the ranges that moves between uplinks, or leaves the node once", () => {
    for (let time = 0; time < 5; time++) {
      move(FIRST - 1, UPLINK);
      move(FIRST - 1, OTHER_UPLINK);
    }
    backAndForth(1, FIRST - 2);
    expect(seen()).toEqual([]);
  });
});
