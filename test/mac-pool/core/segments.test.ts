import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Mac } from "../../../src/api/mac.ts";
import type { MacRange } from "../../../src/api/mac-range.ts";
import { Segments } from "../../../src/mac-pool/core/segments.ts";

const range = fc
  .tuple(fc.nat(60), fc.nat(20))
  .map(([start, length]): MacRange => ({ start: (100 + start) as Mac, end: (100 + start + length) as Mac }));

const inside = (ranges: readonly MacRange[], mac: number): boolean =>
  ranges.some(({ start, end }) => mac >= start && mac <= end);

describe("the addresses of a pool", () => {
  it("are the ranges without the exclusions, numbered without gaps", () => {
    fc.assert(
      fc.property(fc.array(range, { maxLength: 5 }), fc.array(range, { maxLength: 4 }), (ranges, exclusions) => {
        const segments = new Segments(ranges, exclusions);
        const expected: number[] = [];
        for (let mac = 90; mac < 200; mac++) if (inside(ranges, mac) && !inside(exclusions, mac)) expected.push(mac);
        expect(segments.size).toBe(expected.length);
        expect(expected.map((_, number) => segments.macAt(number))).toEqual(expected);
        for (let mac = 90; mac < 200; mac++) {
          const number = expected.indexOf(mac);
          expect(segments.numberOf(mac as Mac)).toBe(number < 0 ? undefined : number);
        }
      }),
    );
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
