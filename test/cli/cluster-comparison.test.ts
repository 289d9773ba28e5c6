import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMac, type Mac, parseMac } from "../../src/api/mac.ts";
import { rangeContains, rangeSize } from "../../src/api/mac-range.ts";
import { type ClusterState, compareRanges, sharedAddresses, suggestRange } from "../../src/cli/cluster-comparison.ts";
import type { ClaimView, PoolView } from "../../src/mac-pool/inspection/rest/views.ts";
import { claims, pools } from "./support/answers.ts";

const BASE = 0x020000000000;
const mac = (number: number): string => formatMac((BASE + number) as Mac);

function poolOf(name: string, ranges: readonly (readonly [number, number])[]): PoolView {
  const [model] = pools;
  if (model === undefined) throw new Error("there is no pool to take after");
  const counts = { used: 0, free: 0, pending: 0, quarantined: 0 };
  return {
    ...model,
    name,
    ranges: ranges.map(([first, last]) => ({
      first: mac(first),
      last: mac(last),
      capacity: last - first + 1,
      ...counts,
    })),
  };
}

function claimOf(number: number, phase: ClaimView["phase"] = "Bound"): ClaimView {
  const [model] = claims;
  if (model === undefined) throw new Error("there is no claim to take after");
  return { ...model, mac: mac(number), phase };
}

const state = (
  cluster: string,
  ranges: readonly (readonly [number, number])[],
  taken: readonly number[] = [],
): ClusterState => ({
  cluster,
  pools: [poolOf("default", ranges)],
  claims: taken.map((number) => claimOf(number)),
});

describe("ranges of several clusters", () => {
  it("overlap where both hand out an address, and the part is named", () => {
    const { items, overlaps } = compareRanges([
      state("a", [[0, 99]]),
      state("b", [[50, 199]]),
      state("c", [[300, 301]]),
    ]);
    expect(overlaps).toEqual([{ first: mac(50), last: mac(99), addresses: 50, between: ["a/default", "b/default"] }]);
    expect(items.map((item) => item.overlaps)).toEqual([["b/default"], ["a/default"], []]);
  });

  it("do not overlap within one cluster, or where they only touch", () => {
    const own = { cluster: "a", pools: [poolOf("x", [[0, 9]]), poolOf("y", [[5, 20]])], claims: [] };
    expect(compareRanges([own, state("b", [[21, 30]])]).overlaps).toEqual([]);
  });

  const range = fc.tuple(fc.nat(60), fc.nat(20)).map(([first, length]) => [first, first + length] as const);

  it("overlap in exactly the addresses that two clusters have", () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(range, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 4 }),
        (clusters) => {
          const states = clusters.map((ranges, index) => state(`c${index}`, ranges));
          const { overlaps } = compareRanges(states);
          for (let number = 0; number <= 80; number++) {
            const address = (BASE + number) as Mac;
            const inside = clusters.filter((ranges) =>
              ranges.some(([first, last]) => number >= first && number <= last),
            );
            const named = overlaps.some(({ first, last }) => {
              const [start, end] = [parseMac(first), parseMac(last)];
              return start !== undefined && end !== undefined && rangeContains({ start, end }, address);
            });
            expect(named).toBe(inside.length > 1);
          }
        },
      ),
    );
  });
});

describe("addresses of several clusters", () => {
  it("are shared where objects of two clusters have them; a quarantined one has no object", () => {
    const resting = { ...state("c", []), claims: [claimOf(2, "Quarantined")] };
    const shared = sharedAddresses([state("a", [], [1, 2]), state("b", [], [2, 3, 1]), resting]);
    expect(shared.map(({ mac, holders }) => [mac, holders.map(({ cluster }) => cluster)])).toEqual([
      [mac(1), ["a", "b"]],
      [mac(2), ["a", "b"]],
    ]);
  });
});

describe("a proposed range", () => {
  it("has the wanted size, is local and unicast, and meets no range and no claim", () => {
    const prefixes = fc.integer({ min: 0, max: 65_535 });
    fc.assert(
      fc.property(
        fc.array(prefixes, { maxLength: 5 }),
        fc.array(prefixes, { maxLength: 5 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 1, max: 2 ** 24 }),
        (held, used, random, size) => {
          const at = (prefix: number): number => prefix * 2 ** 24;
          const states = [
            state(
              "a",
              held.map((prefix) => [at(prefix) + 7, at(prefix) + 7] as const),
            ),
            state(
              "b",
              [],
              used.map((prefix) => at(prefix) + 3),
            ),
          ];
          const range = suggestRange(states, size, random);
          if (range === undefined) throw new Error("nothing proposed");
          expect(rangeSize(range)).toBe(size);
          expect(formatMac(range.start).slice(0, 3)).toBe("02:");
          expect(formatMac(range.end).slice(0, 8)).toBe(formatMac(range.start).slice(0, 8));
          const prefix = Math.floor((range.start - BASE) / 2 ** 24);
          expect([...held, ...used, 0]).not.toContain(prefix);
          expect(formatMac(range.start)).not.toMatch(/^02:42:/);
        },
      ),
    );
  });

  it("is none where every prefix is in use", () => {
    expect(suggestRange([state("a", [[0, 2 ** 40 - 1]])], 1, 0.5)).toBeUndefined();
  });
});
