import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Mac } from "../../../../src/api/mac.ts";
import { AddressOrder } from "../../../../src/mac-pool/inspection/queries/address-order.ts";

const change = fc.record({
  mac: fc.integer({ min: 0, max: 3_000 }),
  value: fc.integer({ min: 0, max: 99 }),
  gone: fc.boolean(),
});

describe("the order of addresses", () => {
  it("is that of a sorted map after any changes, with the numbers of each class", () => {
    const run = (changes: readonly { mac: number; value: number; gone: boolean }[], from: number): void => {
      const order = new AddressOrder<number>({
        classes: 2,
        classesOf: (value) => 1 << (value % 2),
        textOf: (value) => `<${value}>`,
      });
      const model = new Map<number, number>();
      for (let mac = 0; mac < 3_000; mac += 2) {
        order.set(mac as Mac, mac);
        model.set(mac, mac);
      }
      for (const { mac, value, gone } of changes) {
        if (gone) {
          order.delete(mac as Mac);
          model.delete(mac);
        } else {
          order.set(mac as Mac, value);
          model.set(mac, value);
        }
      }
      const sorted = [...model].sort(([one], [other]) => one - other);
      const seen: [number, number][] = [];
      order.scan(from as Mac, (value, mac) => {
        seen.push([mac, value]);
        return true;
      });
      expect(seen).toEqual(sorted.filter(([mac]) => mac >= from));
      expect(order.size).toBe(model.size);
      expect(order.get(from as Mac)).toBe(model.get(from));
      const found: number[] = [];
      const wanted = (text: string): boolean => text.includes("<7>");
      order.scan(0 as Mac, (value, mac) => value !== 7 || found.push(mac) > 0, wanted);
      expect(found).toEqual(sorted.filter(([, value]) => value === 7).map(([mac]) => mac));
      const to = (from + 1_000) as Mac;
      const counts = new Uint32Array(3);
      order.count(from as Mac, to, counts, 1);
      const between = sorted.filter(([mac]) => mac >= from && mac <= to);
      const odd = between.filter(([, value]) => value % 2 === 1).length;
      expect([...counts]).toEqual([0, between.length - odd, odd]);
    };
    fc.assert(fc.property(fc.array(change, { maxLength: 400 }), fc.integer({ min: 0, max: 3_000 }), run));
  });

  it("ends a scan where the visitor says so", () => {
    const order = new AddressOrder<string>();
    for (const mac of [3, 1, 2]) order.set(mac as Mac, String(mac));
    const seen: string[] = [];
    order.scan(0 as Mac, (value) => seen.push(value) < 2);
    expect(seen).toEqual(["1", "2"]);
  });
});
