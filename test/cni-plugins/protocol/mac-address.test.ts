import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMacAddress, parseMacAddress, unicastFault } from "../../../cni-plugins/protocol/mac-address.ts";

describe("a MAC address", () => {
  it.each(["02:5d:1c:00:00:a3", "02:5D:1C:00:00:A3", "02-5d-1c-00-00-a3", "025d.1c00.00a3"])(
    "is read from %s",
    (text) => {
      const mac = parseMacAddress(text);
      expect(mac && formatMacAddress(mac)).toBe("02:5d:1c:00:00:a3");
    },
  );

  it.each([
    "",
    "02:5d:1c:00:00",
    "02:5d:1c:00:00:a3:00",
    "02:5d:1c:00:00:g3",
    "2:5d:1c:0:0:a3",
    "02:5d-1c:00:00:a3",
    "0x:5d:1c:00:00:a3",
  ])("is not read from %j", (text) => {
    expect(parseMacAddress(text)).toBeUndefined();
  });

  it("is read as it was printed", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 6, maxLength: 6 }), (mac) => {
        expect(parseMacAddress(formatMacAddress(mac))).toEqual(mac);
      }),
    );
  });

  it("of a group or of nobody suits no interface", () => {
    expect(unicastFault(new Uint8Array([1, 0, 0, 0, 0, 1]))).toContain("multicast");
    expect(unicastFault(new Uint8Array(6))).toContain("zeroes");
    expect(unicastFault(new Uint8Array([2, 0, 0, 0, 0, 0]))).toBeUndefined();
  });
});
