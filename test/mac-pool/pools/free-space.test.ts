import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FreeSpace } from "../../../src/mac-pool/pools/free-space.ts";

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

  /** The numbers that are taken in one of the two alone. */
  differences(space: FreeSpace): number[] {
    const all = Array.from({ length: this.capacity }, (_, number) => number);
    return all.filter((number) => space.has(number) !== this.taken.has(number));
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
        expect(naive.differences(space)).toEqual([]);
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

  it("behaves so in a space that is filled and emptied at large", () => {
    const stretch = fc.record({ takes: fc.boolean(), from: fc.nat(399), count: fc.integer({ min: 1, max: 400 }) });
    const draws = fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 5 });
    fc.assert(
      fc.property(fc.array(fc.tuple(stretch, draws), { maxLength: 20 }), (steps) => {
        const space = new FreeSpace(400);
        const naive = new NaiveSpace(400);
        for (const [{ takes, from, count }, randoms] of steps) {
          const wrong: number[] = [];
          for (let number = from; number < Math.min(400, from + count); number++) {
            const [said, size] = [takes ? space.take(number) : space.release(number), naive.taken.size];
            if (takes) naive.taken.add(number);
            else naive.taken.delete(number);
            if (said !== (naive.taken.size !== size)) wrong.push(number);
          }
          expect(wrong).toEqual([]);
          const free = new Set<number | undefined>(naive.free());
          expect(space.free).toBe(free.size);
          if (free.size === 0) free.add(undefined);
          for (const random of randoms) expect(free).toContain(space.draw(random));
        }
        expect(naive.differences(space)).toEqual([]);
      }),
    );
  });

  it.each([
    ["the first", (number: number) => number < 800],
    ["those in the middle", (number: number) => number >= 100 && number < 900],
    ["four of five", (number: number) => number % 5 !== 0],
  ])("guesses every free number, none much more often than others, where %s are taken", (_, isTaken) => {
    const space = new FreeSpace(1_000);
    for (let number = 0; number < 1_000; number++) if (isTaken(number)) space.take(number);
    const drawn = new Map<number | undefined, number>();
    for (let i = 0; i < 20_000; i++) {
      const number = space.draw((i + 0.5) / 20_000);
      drawn.set(number, (drawn.get(number) ?? 0) + 1);
    }
    expect([...drawn.keys()].some((number) => number === undefined || isTaken(number))).toBe(false);
    expect(drawn.size).toBe(200);
    expect(Math.max(...drawn.values())).toBeLessThan(200);
    expect(Math.min(...drawn.values())).toBeGreaterThan(50);
  });

  it("stays exact through the churn of many allocations in a big range", () => {
    const space = new FreeSpace(2 ** 40);
    const live: number[] = [];
    let seed = 7;
    const random = (): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const wrong: number[] = [];
    for (let step = 0; step < 50_000; step++) {
      const drawn = space.draw(random());
      if (drawn === undefined) throw new Error("the space is full");
      if (!space.take(drawn)) wrong.push(drawn);
      live.push(drawn);
      const oldest = live.length > 100 ? live.shift() : undefined;
      if (oldest !== undefined && !space.release(oldest)) wrong.push(oldest);
    }
    expect(wrong).toEqual([]);
    expect(space.taken).toBe(100);
    expect(live.every((number) => space.has(number))).toBe(true);
  });
});
