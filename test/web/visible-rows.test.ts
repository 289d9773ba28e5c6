import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { visibleRows } from "../../src/web/visible-rows.ts";

describe("the rows that are drawn", () => {
  const windows = fc.record({
    scrollTop: fc.nat(4_000_000),
    height: fc.nat(3_000),
    rowPx: fc.constant(34),
    rows: fc.nat(100_000),
    margin: fc.nat(20),
  });

  it("hold every row in sight, and few others", () => {
    fc.assert(
      fc.property(windows, (window) => {
        const { scrollTop, height, rowPx, rows, margin } = window;
        const { first, end } = visibleRows(window);
        expect(first).toBeGreaterThanOrEqual(0);
        expect(end).toBeLessThanOrEqual(rows);
        expect(end).toBeGreaterThanOrEqual(first);
        expect(end - first).toBeLessThanOrEqual(height / rowPx + 2 * margin + 2);
        const top = Math.floor(scrollTop / rowPx);
        if (top < rows) expect(first).toBeLessThanOrEqual(top);
        if (scrollTop + height <= rows * rowPx) expect(end * rowPx).toBeGreaterThanOrEqual(scrollTop + height);
      }),
    );
  });
});
