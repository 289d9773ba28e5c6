import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isMulticast, type Mac, parseMac } from "../../../src/api/mac.ts";
import type { MacRange } from "../../../src/api/mac-range.ts";
import { Segments } from "../../../src/mac-pool/pools/segments.ts";

/** KubeVirt's, the first one after a block of multicast addresses. */
const POD_BRIDGE = 0x02_00_00_00_00_00;
const BLOCK = 2 ** 40;
const [FROM, TO] = [POD_BRIDGE - 30, POD_BRIDGE + 80];

const range = fc
  .tuple(fc.nat(60), fc.nat(20))
  .map(([start, length]): MacRange => ({ start: (FROM + start) as Mac, end: (FROM + start + length) as Mac }));

const inside = (ranges: readonly MacRange[], mac: number): boolean =>
  ranges.some(({ start, end }) => mac >= start && mac <= end);

const isGivenOut = (mac: number): boolean => !isMulticast(mac as Mac) && mac !== POD_BRIDGE;

/** A unicast address, often one of the first or last of its first octet. */
const unicast = fc
  .tuple(
    fc.nat(127),
    fc.oneof(
      fc.nat(3),
      fc.nat(3).map((less) => BLOCK - 1 - less),
      fc.nat({ max: BLOCK - 1 }),
    ),
  )
  .map(([half, rest]) => half * 2 * BLOCK + rest);

/** How many unicast addresses come before one, all of them written out: each even first octet has a block. */
const unicastBefore = (mac: number): number => {
  const octet = Math.floor(mac / BLOCK);
  return Math.ceil(octet / 2) * BLOCK + (octet % 2 === 0 ? mac % BLOCK : 0);
};

describe("the addresses of a pool", () => {
  it("are the unicast ones of the ranges without the exclusions and KubeVirt's, numbered without gaps", () => {
    fc.assert(
      fc.property(fc.array(range, { maxLength: 5 }), fc.array(range, { maxLength: 4 }), (ranges, exclusions) => {
        const segments = new Segments(ranges, exclusions);
        const expected: number[] = [];
        for (let mac = FROM; mac < TO; mac++) {
          if (inside(ranges, mac) && !inside(exclusions, mac) && isGivenOut(mac)) expected.push(mac);
        }
        expect(segments.size).toBe(expected.length);
        expect(expected.map((_, number) => segments.macAt(number))).toEqual(expected);
        for (let mac = FROM; mac < TO; mac++) {
          const number = expected.indexOf(mac);
          expect(segments.numberOf(mac as Mac)).toBe(number < 0 ? undefined : number);
        }
      }),
    );
  });

  it("leave out the multicast ones of a range over several first octets, and count them", () => {
    fc.assert(
      fc.property(unicast, unicast, fc.array(unicast), (one, other, looked) => {
        const [start, end] = [Math.min(one, other) as Mac, Math.max(one, other) as Mac];
        const segments = new Segments([{ start, end }]);
        const all = unicastBefore(end + 1) - unicastBefore(start);
        const reserved = inside([{ start, end }], POD_BRIDGE) ? 1 : 0;
        expect(segments.size).toBe(all - reserved);
        expect(segments.skipped).toEqual({ multicast: end - start + 1 - all, podBridge: reserved === 1 });
        for (const mac of [start, end, ...looked, ...looked.map((each) => each + BLOCK)] as Mac[]) {
          const number = segments.numberOf(mac);
          expect(number !== undefined).toBe(inside([{ start, end }], mac) && isGivenOut(mac));
          if (number === undefined) continue;
          const before = reserved === 1 && mac > POD_BRIDGE ? 1 : 0;
          expect(number).toBe(unicastBefore(mac) - unicastBefore(start) - before);
          expect(segments.macAt(number)).toBe(mac);
        }
      }),
    );
  });

  it("span what was written, apart only where addresses are that another pool could give out", () => {
    const [start, end] = [parseMac("AA:00:00:00:00:00") as Mac, parseMac("FE:A8:11:22:33:44") as Mac];
    expect(new Segments([{ start, end }]).spans).toEqual([{ start, end }]);
    expect(new Segments([{ start: 1 as Mac, end }]).spans).toEqual([{ start: 1, end }]);
    const excluded = { start: (start + 5) as Mac, end: (start + 2 * BLOCK + 7) as Mac };
    const spans = [
      { start, end: excluded.start - 1 },
      { start: excluded.end + 1, end },
    ];
    expect(new Segments([{ start, end }], [excluded]).spans).toEqual(spans);
    expect(String(new Segments([{ start, end }], [excluded]))).toBe(
      "aa:00:00:00:00:00-aa:00:00:00:00:04, ac:00:00:00:00:08-fe:a8:11:22:33:44",
    );
  });

  it("are those of OpenShift's example, half of which is multicast", () => {
    const [start, end] = [parseMac("AA:00:00:00:00:00") as Mac, parseMac("FE:A8:11:22:33:44") as Mac];
    const segments = new Segments([{ start, end }]);
    expect(segments.ranges).toHaveLength(43);
    expect(segments.skipped).toEqual({ multicast: 42 * BLOCK, podBridge: false });
    expect(segments.size).toBe(end - start + 1 - 42 * BLOCK);
  });

  it("are equal however they were written down", () => {
    const whole = new Segments([{ start: 10 as Mac, end: 20 as Mac }]);
    const parts = new Segments([
      { start: 16 as Mac, end: 20 as Mac },
      { start: 10 as Mac, end: 15 as Mac },
    ]);
    expect(whole.equals(parts)).toBe(true);
    expect(whole.equals(new Segments([{ start: 10 as Mac, end: 19 as Mac }]))).toBe(false);
  });
});
