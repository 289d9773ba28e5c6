import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cellAt, cellsFor, describeCell, gridOf, paintOf, strengthOf } from "../../src/web/map/grid.ts";

const cell = (given: object) => ({
  ...{ first: "02:00:00:00:00:00", last: "02:00:00:00:00:ff", size: 256, free: 256 },
  ...{ pending: 0, bound: 0, quarantined: 0, explicit: 0, colliding: 0 },
  ...given,
});

describe("the cells of the map", () => {
  it("all have a place within the width, each its own, that leads back to it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4_096 }), fc.integer({ min: 100, max: 4_000 }), (cells, width) => {
        const grid = gridOf(cells, width);
        expect(grid.columns * grid.pitch).toBeLessThanOrEqual(width + 1e-6);
        expect(grid.columns * grid.rows).toBeGreaterThanOrEqual(cells);
        for (const index of [0, Math.floor(cells / 2), cells - 1]) {
          const x = ((index % grid.columns) + 0.5) * grid.pitch;
          const y = (Math.floor(index / grid.columns) + 0.5) * grid.pitch;
          expect(cellAt(grid, x, y, cells)).toBe(index);
        }
        expect(cellAt(grid, -1, 0, cells)).toBeUndefined();
        expect(cellAt(grid, 1, grid.rows * grid.pitch + 1, cells)).toBeUndefined();
      }),
    );
  });

  it("are no more than the server answers, and fewer on a narrow screen", () => {
    expect(cellsFor(3_840)).toBe(4_096);
    expect(cellsFor(330)).toBe(1_024);
    expect(cellsFor(0)).toBeGreaterThan(0);
  });

  it("show a collision before all else, then what most of them are", () => {
    expect(paintOf(cell({}))).toBe("free");
    expect(paintOf(cell({ free: 250, bound: 6 }))).toBe("bound");
    expect(paintOf(cell({ free: 250, bound: 6, explicit: 5 }))).toBe("explicit");
    expect(paintOf(cell({ free: 250, bound: 1, quarantined: 5, explicit: 6 }))).toBe("quarantined");
    expect(paintOf(cell({ free: 250, pending: 6 }))).toBe("pending");
    expect(paintOf(cell({ free: 255, hostAddresses: 1 }))).toBe("host");
    expect(paintOf(cell({ free: 250, bound: 2, hostAddresses: 4 }))).toBe("host");
    expect(paintOf(cell({ free: 250, bound: 2, hostAddresses: 4, stationAddresses: 3 }))).toBe("station");
    expect(paintOf(cell({ free: 250, bound: 4, hostAddresses: 2 }))).toBe("bound");
    expect(paintOf(cell({ free: 250, bound: 6, colliding: 1 }))).toBe("colliding");
  });

  it("grow stronger with what they hold, and one of many is seen", () => {
    const strengths = [0, 1, 16, 255, 256].map((used) => strengthOf(cell({ free: 256 - used, bound: used })));
    expect(strengths).toEqual(strengths.toSorted((a, b) => a - b));
    expect(strengths[0]).toBe(0);
    expect(strengths[1]).toBeGreaterThan(0.3);
    expect(strengths.at(-1)).toBe(1);
  });

  it("are told in words", () => {
    expect(describeCell(cell({ free: 250, bound: 4, pending: 2 }), String)).toBe("6 of 256 used, 2 pending");
    expect(describeCell(cell({ free: 250, bound: 4, hostAddresses: 2 }), String)).toBe("4 of 256 used, 2 nodes' own");
    expect(describeCell(cell({ free: 250, bound: 3, hostAddresses: 3, stationAddresses: 2 }), String)).toBe(
      "3 of 256 used, 1 nodes' own, 2 of stations outside the cluster",
    );
    expect(describeCell(cell({ size: 1, free: 0, hostAddresses: 1, stationAddresses: 1 }), String)).toBe(
      "of a station outside the cluster, kept back",
    );
    const single = { size: 1, free: 0, bound: 1, explicit: 1 };
    expect(describeCell(cell(single), String)).toBe("bound, explicit");
    expect(describeCell(cell({ size: 1, free: 1 }), String)).toBe("free");
    expect(describeCell(cell({ size: 1, free: 0, hostAddresses: 1 }), String)).toBe("a node's own, kept back");
  });
});
