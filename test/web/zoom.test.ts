import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMac, type Mac, parseMac } from "../../src/api/mac.ts";
import { beside, isSingle, zoomInto, zoomOut } from "../../src/web/map/zoom.ts";

const FIRST = 0x02_5d_1c_00_00_00;
const mac = (offset: number): string => formatMac((FIRST + offset) as Mac);
const offsetOf = (text: string): number => (parseMac(text) ?? Number.NaN) - FIRST;
const SIZE = 2 ** 24;
const bounds = { from: mac(0), to: mac(SIZE - 1) };

/** As the server divides a part of the range. */
function mapOf(from: number, to: number, most: number) {
  const size = Math.ceil((to - from + 1) / most);
  const cells = Array.from({ length: Math.ceil((to - from + 1) / size) }, (_, index) => {
    const first = from + index * size;
    const last = Math.min(to, first + size - 1);
    const counts = { pending: 0, bound: 0, quarantined: 0, explicit: 0, colliding: 0 };
    return { first: mac(first), last: mac(last), size: last - first + 1, free: last - first + 1, ...counts };
  });
  return { pool: "default", from: mac(from), to: mac(to), cells, outOfRange: 0 };
}

describe("the zoom of the map", () => {
  it("leads from the whole range to one address in a few steps", () => {
    fc.assert(
      fc.property(fc.nat(SIZE - 1), fc.constantFrom("cell" as const, "around" as const), (wanted, how) => {
        let map = mapOf(0, SIZE - 1, 4_096);
        for (let steps = 0; !isSingle(map.cells); steps++) {
          expect(steps).toBeLessThan(8);
          const index = map.cells.findIndex(({ first, last }) => offsetOf(first) <= wanted && wanted <= offsetOf(last));
          const part = zoomInto(map.cells, index, how);
          if (part === undefined) throw new Error("no way in");
          map = mapOf(offsetOf(part.from), offsetOf(part.to), 4_096);
        }
        expect(map.cells.some(({ first }) => offsetOf(first) === wanted)).toBe(true);
        expect(zoomInto(map.cells, 0, how)).toBeUndefined();
      }),
      { numRuns: 20 },
    );
  });

  it("holds what was shown when it goes out, and ends with the whole", () => {
    fc.assert(
      fc.property(fc.nat(SIZE - 1), fc.nat(5_000), (from, width) => {
        let [start, end] = [from, Math.min(SIZE - 1, from + width)];
        for (let steps = 0; ; steps++) {
          expect(steps).toBeLessThan(8);
          const part = zoomOut(mapOf(start, end, 64), bounds);
          if (part === undefined) return;
          expect(offsetOf(part.from)).toBeLessThanOrEqual(start);
          expect(offsetOf(part.to)).toBeGreaterThanOrEqual(end);
          [start, end] = [offsetOf(part.from), offsetOf(part.to)];
          expect(start).toBeGreaterThanOrEqual(0);
          expect(end).toBeLessThan(SIZE);
        }
      }),
    );
  });

  it("goes on to both sides, as far as the pool reaches", () => {
    expect(beside(mapOf(0, 4_095, 64), -1, bounds)).toBeUndefined();
    expect(beside(mapOf(0, 4_095, 64), 1, bounds)).toEqual({ from: mac(4_096), to: mac(8_191) });
    expect(beside(mapOf(SIZE - 100, SIZE - 1, 64), 1, bounds)).toBeUndefined();
    expect(beside(mapOf(50, 149, 64), -1, bounds)).toEqual({ from: mac(0), to: mac(99) });
  });
});
