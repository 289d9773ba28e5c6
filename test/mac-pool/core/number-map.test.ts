import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NumberMap } from "../../../src/mac-pool/core/number-map.ts";

/** Few enough to meet again, of all sizes, and many that follow one another. */
const key = fc.oneof(
  fc.nat(40),
  fc.constantFrom(2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 40 + 1, 2 ** 48 - 1, Number.MAX_SAFE_INTEGER),
  fc.integer({ min: 2 ** 40, max: 2 ** 40 + 40 }),
);
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("set" as const), key, value: fc.maxSafeNat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), key }) },
);

describe("a map of numbers", () => {
  it("keeps what a Map keeps", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: "max" }), (steps) => {
        const ours = new NumberMap();
        const model = new Map<number, number>();
        for (const each of steps) {
          if (each.kind === "delete") expect(ours.delete(each.key)).toBe(model.delete(each.key));
          else {
            ours.set(each.key, each.value);
            model.set(each.key, each.value);
          }
          expect(ours.size).toBe(model.size);
          expect(ours.get(each.key)).toBe(model.get(each.key));
        }
        for (const [number, value] of model) expect(ours.get(number)).toBe(value);
        for (let number = 0; number <= 41; number++) expect(ours.get(number)).toBe(model.get(number));
      }),
    );
  });

  it("finds all that is left while many come and go", () => {
    const ours = new NumberMap();
    const far = (index: number): number => 2 ** 40 + index * 2 ** 20;
    for (let index = 0; index < 20_000; index++) ours.set(far(index), index);
    for (let index = 0; index < 20_000; index += 2) expect(ours.delete(far(index))).toBe(true);
    for (let index = 0; index < 20_000; index++) expect(ours.get(far(index))).toBe(index % 2 === 0 ? undefined : index);
    expect(ours.size).toBe(10_000);
  });
});
