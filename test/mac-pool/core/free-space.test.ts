import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FreeSpace } from "../../../src/mac-pool/core/free-space.ts";

/** The naive model: a set of taken numbers; the free ones are found by looking at each. */
class NaiveSpace {
  readonly taken = new Set<number>();
  readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  free(): number[] {
    return Array.from({ length: this.capacity }, (_, number) => number).filter((number) => !this.taken.has(number));
  }
}

const operation = (capacity: number) =>
  fc.oneof(
    fc.record({ kind: fc.constant("take" as const), number: fc.nat(capacity - 1) }),
    fc.record({ kind: fc.constant("release" as const), number: fc.nat(capacity - 1) }),
    fc.record({
      kind: fc.constant("draw" as const),
      random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    }),
  );

const scenario = fc
  .integer({ min: 1, max: 40 })
  .chain((capacity) => fc.tuple(fc.constant(capacity), fc.array(operation(capacity), { maxLength: 300 })));

describe("the free space of a pool", () => {
  it("behaves as a set of taken numbers, whatever the order of operations", () => {
    fc.assert(
      fc.property(scenario, ([capacity, operations]) => {
        const space = new FreeSpace(capacity);
        const naive = new NaiveSpace(capacity);
        for (const step of operations) {
          if (step.kind === "take") {
            expect(space.take(step.number)).toBe(!naive.taken.has(step.number));
            naive.taken.add(step.number);
          } else if (step.kind === "release") {
            expect(space.release(step.number)).toBe(naive.taken.delete(step.number));
          } else {
            const drawn = space.draw(step.random);
            if (naive.taken.size === capacity) expect(drawn).toBeUndefined();
            else expect(naive.free()).toContain(drawn);
          }
          expect(space.taken).toBe(naive.taken.size);
          expect(space.free).toBe(capacity - naive.taken.size);
        }
        for (let number = 0; number < capacity; number++) expect(space.has(number)).toBe(naive.taken.has(number));
      }),
    );
  });

  it("reaches every free number and no other", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), fc.array(fc.nat(29)), (capacity, taken) => {
        const space = new FreeSpace(capacity);
        const naive = new NaiveSpace(capacity);
        for (const number of taken.filter((candidate) => candidate < capacity)) {
          space.take(number);
          naive.taken.add(number);
        }
        const reached = Array.from({ length: space.free }, (_, i) => space.draw((i + 0.5) / space.free));
        expect(reached.toSorted((a, b) => Number(a) - Number(b))).toEqual(naive.free());
      }),
    );
  });

  it("stays exact through the churn of many allocations in a big range", () => {
    const space = new FreeSpace(2 ** 40);
    const live: number[] = [];
    let seed = 7;
    const random = (): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    for (let step = 0; step < 50_000; step++) {
      const drawn = space.draw(random());
      if (drawn === undefined) throw new Error("the space is full");
      expect(space.take(drawn)).toBe(true);
      live.push(drawn);
      if (live.length > 100) expect(space.release(live.shift() ?? -1)).toBe(true);
    }
    expect(space.taken).toBe(100);
    expect(live.every((number) => space.has(number))).toBe(true);
  });
});
