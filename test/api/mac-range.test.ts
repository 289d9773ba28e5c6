import { describe, expect, it } from "vitest";
import { formatRange, parseRange, parseRangeText, rangeContains, rangeSize } from "../../src/api/mac-range.ts";

function reason(rangeStart: string, rangeEnd: string, allowSingle = true): string | undefined {
  const parsed = parseRange({ rangeStart, rangeEnd }, { allowSingle });
  return parsed.ok ? undefined : parsed.reason;
}

describe("a MAC range", () => {
  it("counts both ends and prints itself canonically", () => {
    const parsed = parseRange({ rangeStart: "025D.1C00.0000", rangeEnd: "02-5d-1c-ff-ff-ff" });
    if (!parsed.ok) throw new Error(parsed.reason);
    expect(rangeSize(parsed.range)).toBe(2 ** 24);
    expect(formatRange(parsed.range)).toBe("02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff");
    expect(parseRangeText(formatRange(parsed.range))).toEqual(parsed.range);
    expect(rangeContains(parsed.range, parsed.range.end)).toBe(true);
  });

  it("may hold a single address, unless the caller wants more", () => {
    const one = "02:00:00:00:00:01";
    expect(reason(one, one)).toBeUndefined();
    expect(reason(one, one, false)).toBe(
      "failed to set mac address range: invalid range. Range end is lesser than or equal to its start. " +
        `start: ${one} end: ${one}`,
    );
  });

  it("says that its end is before its start, in the words of the kind that it is in", () => {
    const text = "failed to set mac address range: invalid range. Range end is";
    const ends = "its start. start: 02:00:00:00:00:02 end: 02:00:00:00:00:01";
    const reversed = ["02:00:00:00:00:02", "02:00:00:00:00:01"] as const;
    expect(reason(...reversed)).toBe(`${text} less than ${ends}`);
    expect(reason(...reversed, false)).toBe(`${text} lesser than or equal to ${ends}`);
  });

  it("is compared as a number, not octet by octet", () => {
    expect(reason("0a:00:00:00:00:00", "02:00:00:00:00:01")).toMatch(
      /^failed to set mac address range: invalid range\. /,
    );
    expect(reason("02:00:00:00:00:ff", "02:00:00:00:01:00")).toBeUndefined();
  });

  it("says which end cannot be read", () => {
    expect(reason("x", "02:00:00:00:00:01")).toBe("failed to parse rangeStart because the mac address is invalid");
    expect(reason("02:00:00:00:00:01", "02:00:00:00:00:00:00:01")).toBe(
      "failed to parse rangeEnd because the mac address is invalid",
    );
  });

  it("has no multicast end, and names the first octet", () => {
    const text =
      "invalid mac address. Multicast addressing is not supported. Unicast addressing must be used. The first octet is ";
    expect(reason("01:00:00:00:00:00", "02:00:00:00:00:00")).toBe(`failed to set RangeStart: ${text}0X1`);
    expect(reason("02:00:00:00:00:00", "ff:00:00:00:00:00")).toBe(`failed to set RangeEnd: ${text}0XFF`);
  });

  it("does not begin with the all-zero address", () => {
    expect(reason("00:00:00:00:00:00", "00:00:00:00:00:05")).toMatch(/all-zero/);
  });

  it("may have multicast addresses between its ends", () => {
    expect(reason("AA:00:00:00:00:00", "FE:A8:11:22:33:44")).toBeUndefined();
    expect(reason("02:ff:ff:ff:ff:ff", "04:00:00:00:00:00", false)).toBeUndefined();
  });
});
