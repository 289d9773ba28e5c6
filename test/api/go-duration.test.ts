import { describe, expect, it } from "vitest";
import { formatGoDuration, parseGoDuration } from "../../src/api/go-duration.ts";

describe("a duration as Go writes it", () => {
  it.each([
    ["24h0m0s", 86_400_000, "24h0m0s"],
    ["1h30m", 5_400_000, "1h30m0s"],
    ["1.5h", 5_400_000, "1h30m0s"],
    ["90s", 90_000, "1m30s"],
    ["300ms", 300, "300ms"],
    ["1500ms", 1500, "1.5s"],
    ["-2h", -7_200_000, "-2h0m0s"],
    ["+5m", 300_000, "5m0s"],
    ["0", 0, "0s"],
  ])("%s is %d ms, printed as %s", (text, durationMs, printed) => {
    expect(parseGoDuration(text)).toEqual({ ok: true, durationMs });
    expect(formatGoDuration(durationMs)).toBe(printed);
  });

  it.each([
    ["", 'time: invalid duration ""'],
    ["abc", 'time: invalid duration "abc"'],
    ["1", 'time: missing unit in duration "1"'],
    ["1d", 'time: unknown unit "d" in duration "1d"'],
    ["5constructor", 'time: unknown unit "constructor" in duration "5constructor"'],
    ["1h2x", 'time: unknown unit "x" in duration "1h2x"'],
    ["99999999999h", 'time: invalid duration "99999999999h"'],
  ])("refuses %j as Go does", (text, reason) => {
    expect(parseGoDuration(text)).toEqual({ ok: false, reason });
  });
});
