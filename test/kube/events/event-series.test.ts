import { describe, expect, test } from "vitest";
import {
  BURST,
  EventSeries,
  REFILL_MS,
  SERIES_INTERVAL_MS,
  SERIES_WINDOW_MS,
} from "../../../src/kube/events/event-series.ts";

describe("what repeats", () => {
  test("is counted, and written at most once an interval", () => {
    const series = new EventSeries();
    expect(series.record("a", 0)).toEqual({ type: "new", count: 1 });
    expect(series.record("a", 1)).toEqual({ type: "drop", count: 2 });
    expect(series.record("a", SERIES_INTERVAL_MS)).toEqual({ type: "repeat", count: 3 });
    expect(series.record("a", SERIES_INTERVAL_MS + 1)).toEqual({ type: "drop", count: 4 });
  });

  test("is new again after a long silence", () => {
    const series = new EventSeries();
    series.record("a", 0);
    series.setWritten("a", { name: "e" });
    expect(series.record("a", SERIES_WINDOW_MS)).toEqual({ type: "new", count: 1 });
    expect(series.written("a")).toBeUndefined();
  });
});

describe("what is new", () => {
  test("is limited to a burst that comes back with time", () => {
    const series = new EventSeries();
    const types = Array.from({ length: BURST + 1 }, (_, index) => series.record(`k${index}`, 0).type);
    expect(types.filter((type) => type === "new")).toHaveLength(BURST);
    expect(types.at(-1)).toBe("drop");
    expect(series.record("later", REFILL_MS).type).toBe("new");
    expect(series.record("again", REFILL_MS + 1).type).toBe("drop");
  });

  test("is forgotten, oldest first, so memory stays bounded", () => {
    const series = new EventSeries();
    for (let index = 0; index < 5_000; index++) {
      series.record(`k${index}`, index * REFILL_MS);
    }
    expect(series.record("k0", 5_000 * REFILL_MS).type).toBe("new");
  });
});
