import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatMacAddress, parseMacAddress, unicastFault } from "../../../cni-plugins/cni/mac-address.ts";
import { formatMac, parseMac } from "../../../src/api/mac.ts";

describe("a MAC address", () => {
  it.each(["02:5d:1c:00:00:a3", "02:5D:1C:00:00:A3", "02-5d-1c-00-00-a3", "025d.1c00.00a3", "025D1c0000a3"])(
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
    "-2:5d:1c:00:00:a3",
    "+2:5d:1c:00:00:a3",
  ])("is not read from %j", (text) => {
    expect(parseMacAddress(text)).toBeUndefined();
  });

  it("is read in the notations that the MAC pool takes, and in no others", () => {
    const notation = fc.constantFrom(...["02:5D:1c:00:00:a3", "02-5d-1c-00-00-A3", "025d.1c00.00a3", "025d1c0000a3"]);
    const characters = fc.array(fc.constantFrom(..."09afAF:-.gx \u0130"), { maxLength: 2 });
    const spoiled = fc
      .tuple(notation, fc.nat(17), fc.nat(2), characters)
      .map(([text, at, cut, inserted]) => text.slice(0, at) + inserted.join("") + text.slice(at + cut));
    fc.assert(
      fc.property(spoiled, (text) => {
        const [ours, pools] = [parseMacAddress(text), parseMac(text)];
        expect(ours && formatMacAddress(ours)).toBe(pools && formatMac(pools));
      }),
    );
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
