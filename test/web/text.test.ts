import { describe, expect, it } from "vitest";
import { secondsInWords } from "../../src/api/forecast-text.ts";
import { counted, fullness, percent, relativeTime } from "../../src/web/text.ts";

describe("numbers in words", () => {
  it("never round something to nothing, or nearly all to all", () => {
    expect(percent(0, 100)).toBe("0 %");
    expect(percent(1, 16_777_216)).toBe("< 0.1 %");
    expect(percent(1, 200)).toBe("0.5 %");
    expect(percent(99, 100)).toBe("99 %");
    expect(percent(16_777_215, 16_777_216)).toBe("> 99.9 %");
    expect(percent(5, 5)).toBe("100 %");
    expect(percent(0, 0)).toBe("0 %");
  });

  it("agree with what they count", () => {
    expect(counted(1, "address", "addresses")).toBe("1 address");
    expect(counted(16_777_216, "address", "addresses")).toBe("16,777,216 addresses");
  });

  it("say how long in the largest unit that fits", () => {
    expect([59, 60, 7_200, 86_400 * 3].map(secondsInWords)).toEqual(["59 seconds", "1 minute", "2 hours", "3 days"]);
  });

  it("say when, in either direction", () => {
    const nowMs = Date.parse("2026-11-21T09:14:03Z");
    expect(relativeTime("2026-11-21T09:12:03Z", nowMs)).toBe("2 minutes ago");
    expect(relativeTime("2026-11-21T09:14:43Z", nowMs)).toBe("in 40 seconds");
    expect(relativeTime("no time", nowMs)).toBe("no time");
  });

  it("say when a pool is full, in the words of the command line, and from what", () => {
    const reason = "From 3 allocations.";
    expect(fullness({ days: 40.2, atLeast: 31, atMost: 62, reason })).toBe(
      "Full in about 40 days (between 31 and 62 days). From 3 allocations.",
    );
    expect(fullness({ days: 293_407, atLeast: 90_000, atMost: null, reason })).toBe(
      "Full in more than 10 years. From 3 allocations.",
    );
  });

  it("say why there is no date, or that the pool is full, in the pool's own sentence", () => {
    const [none, full] = ["The pool is not filling: 3 allocations and 4 releases in 40 min.", "The pool is full."];
    expect(fullness({ days: null, atLeast: null, atMost: null, reason: none })).toBe(none);
    expect(fullness({ days: 0, atLeast: 0, atMost: 0, reason: full })).toBe(full);
  });
});
