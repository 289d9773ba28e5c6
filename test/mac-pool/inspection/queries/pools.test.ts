import { describe, expect, it } from "vitest";
import { formatMac, type Mac, parseMac } from "../../../../src/api/mac.ts";
import type { KubeObject } from "../../../../src/kube/client/resource.ts";
import { EVERYTHING } from "../../../../src/mac-pool/inspection/queries/scope.ts";
import type { MapView } from "../../../../src/mac-pool/inspection/rest/views.ts";
import { claimOf, FIRST, InspectionFixture, nodeMacsOf, owner, pageOf, readAnswer } from "../inspection-fixture.ts";

const SPAN = { first: "aa:00:00:00:00:00", last: "fe:a8:11:22:33:44" };
const RANGE = { ranges: [{ start: SPAN.first, end: SPAN.last }] };
const HELD = parseMac("ac:00:00:00:00:07") as Mac;

describe("a range with multicast addresses inside", () => {
  it("is told as it was written, without them in its counts", async () => {
    await using fixture = await InspectionFixture.start({
      pools: { default: RANGE },
      claims: [claimOf(HELD, [owner("default", "web")])],
    });
    const { ranges, capacity } = fixture.inspector.pool("default", true);
    expect(ranges).toMatchObject([{ ...SPAN, capacity, used: 1, free: capacity - 1 }]);
    expect(capacity).toBe(42 * 2 ** 40 + 0xa8_11_22_33_45);
    expect(pageOf(fixture.inspector, { limit: 10 }, EVERYTHING).items).toMatchObject([
      { inRange: true, range: `${SPAN.first}-${SPAN.last}` },
    ]);
  });

  it("is named whole where a part of the pool has no address", async () => {
    await using fixture = await InspectionFixture.start({ pools: { default: RANGE } });
    const ask = () =>
      fixture.inspector.map("default", { cells: 4, from: "ab:00:00:00:00:00", to: "ab:00:00:00:00:ff" }, true);
    expect(ask).toThrow(`MACPool default has no address there. Its ranges: ${SPAN.first}-${SPAN.last}.`);
  });
});

describe("stations outside the cluster", () => {
  const pools = {
    default: {
      ranges: [
        { start: "02:5d:1c:00:00:00", end: "02:5d:1c:00:00:1f" },
        { start: "02:5d:1d:00:00:00", end: "02:5d:1d:00:00:1f" },
      ],
    },
  };
  const seen = (name: string, uplink: string, macs: readonly Mac[]): KubeObject => ({
    ...nodeMacsOf(name, []),
    stations: macs.map((mac) => ({ mac: formatMac(mac), bridge: "br1", uplink, lastSeen: new Date().toISOString() })),
  });
  const macsFrom = (first: number, count: number): Mac[] =>
    Array.from({ length: count }, (_, index) => (FIRST + first + index) as Mac);

  it("are counted in their range, with one of them, and kept apart from addresses of nodes", async () => {
    const nodeMacs = [seen("node-b", "eno2", macsFrom(3, 2)), nodeMacsOf("node-a", macsFrom(0, 1))];
    await using fixture = await InspectionFixture.start({ pools, nodeMacs });
    const { ranges, free } = fixture.inspector.pool("default", true);
    const stations = { count: 2, mac: "02:5d:1c:00:00:03", node: "node-b", uplink: "eno2" };
    expect(ranges).toEqual([
      expect.objectContaining({ free: 29, hostAddresses: 3, stationAddresses: 2, stations }),
      expect.objectContaining({ free: 32, hostAddresses: 0, stationAddresses: 0 }),
    ]);
    expect(ranges[1]?.stations).toBeUndefined();
    expect(free).toBe(61);
    const map = readAnswer<MapView>(fixture.inspector.map("default", { cells: 64 }, true));
    expect(
      map.cells.slice(0, 5).map(({ hostAddresses, stationAddresses }) => [hostAddresses, stationAddresses]),
    ).toEqual([
      [1, 0],
      [0, 0],
      [0, 0],
      [1, 1],
      [1, 1],
    ]);
  });

  it("are counted where they are more than the pool keeps back", async () => {
    await using fixture = await InspectionFixture.start({ pools, nodeMacs: [seen("node-a", "eno2", macsFrom(0, 32))] });
    const [first] = fixture.inspector.pool("default", true).ranges;
    expect(first).toMatchObject({ free: 16, stationAddresses: 16, stations: { count: 32 } });
  });

  it("are a finding of the pool where they are many", async () => {
    for (const [count, codes] of [
      [15, []],
      [16, ["STATIONS_IN_RANGE"]],
    ] as const) {
      await using fixture = await InspectionFixture.start({
        pools,
        nodeMacs: [seen("node-a", "eno2", macsFrom(0, count))],
      });
      const { findings } = await fixture.inspector.consistency(undefined, EVERYTHING);
      const found = findings.filter(({ code }) => code === "STATIONS_IN_RANGE");
      expect(found.map(({ code }) => code)).toEqual(codes);
      if (count === 16)
        expect(found[0]?.message).toContain("16 stations outside the cluster use addresses of this range");
    }
  });
});
