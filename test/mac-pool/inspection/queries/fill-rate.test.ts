import { describe, expect, it } from "vitest";
import {
  daysToFull,
  netInterval,
  poissonInterval,
  Rates,
  rateOf,
} from "../../../../src/mac-pool/inspection/queries/fill-rate.ts";
import { ManualClock } from "../../../kube/support/manual-clock.ts";
import { Random } from "../../../support/random.ts";

const DAY = 86_400;

/** By Knuth's method. */
function poisson(mean: number, random: () => number): number {
  let [count, product] = [0, random()];
  for (const limit = Math.exp(-mean); product > limit; product *= random()) count += 1;
  return count;
}

describe("the rate at which a pool fills", () => {
  it("has the intervals of tables of the Poisson distribution", () => {
    // Exact limits (Garwood 1936): 0: 0-3.689, 1: 0.025-5.572, 5: 1.623-11.668, 10: 4.795-18.390, 100: 81.364-121.627.
    const exact = [
      [0, 0, 3.689],
      [1, 0.025, 5.572],
      [5, 1.623, 11.668],
      [10, 4.795, 18.39],
      [100, 81.364, 121.627],
    ] as const;
    for (const [count, low, high] of exact) {
      const interval = poissonInterval(count);
      expect(Math.abs(interval.low - low)).toBeLessThan(0.02);
      expect(Math.abs(interval.high - high)).toBeLessThan(0.08);
    }
  });

  it("covers the true difference of two random processes in at least 93 % of all cases", () => {
    const random = new Random(7).next;
    for (const [came, went] of [
      [4, 0.5],
      [30, 25],
      [12, 12],
    ] as const) {
      let covered = 0;
      for (let run = 0; run < 2_000; run++) {
        const counted = { allocations: poisson(came, random), releases: poisson(went, random), windowSeconds: DAY };
        const { low, high } = netInterval(counted);
        if (low <= came - went && came - went <= high) covered += 1;
      }
      expect(covered).toBeGreaterThan(1_860);
    }
  });

  it("tells days, and the days between which they are", () => {
    const view = daysToFull(1_000, { allocations: 100, releases: 0, windowSeconds: DAY });
    expect(view).toMatchObject({ days: 10, reason: "From 100 allocations and 0 releases in 24 h." });
    expect(view.atLeast).toBeCloseTo(8.22, 1);
    expect(view.atMost).toBeGreaterThan(12);
    expect(rateOf({ allocations: 50, releases: 20, windowSeconds: DAY / 2 })).toEqual({
      allocationsPerDay: 100,
      releasesPerDay: 40,
      netPerDay: 60,
      windowSeconds: DAY / 2,
    });
  });

  it("says nothing of a day before it has counted for an hour", () => {
    expect(rateOf({ allocations: 5, releases: 2, windowSeconds: 3_599 })).toEqual({ windowSeconds: 3_599 });
    expect(rateOf({ allocations: 5, releases: 2, windowSeconds: 3_600 })).toMatchObject({ allocationsPerDay: 120 });
  });

  it("counts for as long as the pool is there", async () => {
    const clock = new ManualClock();
    const rates = new Rates(clock);
    const windowOf = (pool: string) => rates.of(pool).windowSeconds;
    rates.know("old");
    rates.begin();
    await clock.advance(3_600_000);
    rates.know("young");
    await clock.advance(180_000);
    expect([windowOf("old"), windowOf("young")]).toEqual([3_780, 180]);
    rates.forget("young");
    await clock.advance(60_000);
    rates.know("young");
    await clock.advance(1_000);
    expect(windowOf("young")).toBe(1);
  });

  it("knows no days for a pool that is not filling, and none before it has counted for an hour", () => {
    const empties = daysToFull(10, { allocations: 2, releases: 5, windowSeconds: DAY });
    expect(empties).toMatchObject({ days: null, atMost: null });
    expect(empties.reason).toContain("is not filling");
    const reasonAfter = (windowSeconds: number) =>
      daysToFull(10, { allocations: 9, releases: 0, windowSeconds }).reason;
    expect(reasonAfter(5)).toBe("A forecast takes an hour of counting. This replica has counted for 5 s.");
    expect(reasonAfter(3_599)).toBe("A forecast takes an hour of counting. This replica has counted for 60 min.");
    expect(reasonAfter(3_600)).toBe("From 9 allocations and 0 releases in 60 min.");
    expect(daysToFull(0, { allocations: 0, releases: 0, windowSeconds: 0 })).toMatchObject({ days: 0, atMost: 0 });
  });
});
