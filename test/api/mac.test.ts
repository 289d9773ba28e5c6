import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  claimName,
  formatMac,
  isMulticast,
  MAX_MAC,
  type Mac,
  macFromNumber,
  macOfClaimName,
  parseMac,
} from "../../src/api/mac.ts";
import { share } from "../support/share.ts";

const mac = fc.maxSafeNat().map((value) => (value % (MAX_MAC + 1)) as Mac);

describe("a MAC address", () => {
  it("is read in every notation and case, and printed in one", () => {
    const notations = ["02:AA:bb:0c:DD:ee", "02-aa-bb-0c-dd-EE", "02aa.BB0c.ddee", "02AABB0CDDEE"];
    expect(notations.map((text) => formatMac(parseMac(text) as Mac))).toEqual(Array(4).fill("02:aa:bb:0c:dd:ee"));
  });

  it("survives printing and reading", () => {
    fc.assert(fc.property(mac, (value) => parseMac(formatMac(value)) === value));
  });

  it.each([
    "",
    "02:aa:bb:cc:dd",
    "02:aa:bb:cc:dd:ee:ff:00",
    "02:aa:bb:cc:dd:e",
    "02:aa-bb:cc-dd:ee",
    "02aa.bbcc",
    "0g:aa:bb:cc:dd:ee",
    " 02:aa:bb:cc:dd:ee",
    "2:aa:bb:cc:dd:ee",
  ])("is not %j", (text) => {
    expect(parseMac(text)).toBeUndefined();
  });

  it("is what one of the four patterns says, and nothing else", () => {
    const patterns = [
      /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i,
      /^[0-9a-f]{2}(?:-[0-9a-f]{2}){5}$/i,
      /^[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}$/i,
      /^[0-9a-f]{12}$/i,
    ];
    const strange = fc.constantFrom(..."09afAF:-.gGx/@` \u0130\u0161");
    const written = fc.tuple(mac, fc.constantFrom("", ":", "-", "."), fc.boolean()).map(([value, separator, upper]) => {
      const digits = formatMac(value).replaceAll(":", "");
      const groups = digits.match(separator === "." ? /.{4}/g : /../g) ?? [];
      return upper ? groups.join(separator).toUpperCase() : groups.join(separator);
    });
    const spoiled = fc
      .tuple(written, fc.nat(17), fc.nat(2), fc.array(strange, { maxLength: 2 }))
      .map(([text, at, cut, inserted]) => text.slice(0, at) + inserted.join("") + text.slice(at + cut));
    fc.assert(
      fc.property(fc.oneof(written, spoiled), (text) => {
        const digits = text.replace(/[:.-]/g, "");
        const expected = patterns.some((pattern) => pattern.test(text)) ? Number.parseInt(digits, 16) : undefined;
        expect(parseMac(text)).toBe(expected);
      }),
      { numRuns: share(2_000) },
    );
  });

  it("is multicast by the lowest bit of its first octet", () => {
    const multicast = (text: string) => isMulticast(parseMac(text) as Mac);
    expect(["01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "03:00:00:00:00:00"].map(multicast)).toEqual([true, true, true]);
    expect(["02:00:00:00:00:01", "00:00:00:00:00:00", "fe:ff:ff:ff:ff:ff"].map(multicast)).toEqual([
      false,
      false,
      false,
    ]);
  });

  it("has a claim name that leads back to it", () => {
    expect(claimName(parseMac("02:5d:1c:00:00:a3") as Mac)).toBe("mac-02-5d-1c-00-00-a3");
    fc.assert(fc.property(mac, (value) => macOfClaimName(claimName(value)) === value));
  });

  it.each(["mac-02:5d:1c:00:00:a3", "mac-02-5D-1c-00-00-a3", "02-5d-1c-00-00-a3", "mac-025d1c0000a3", "mac-"])(
    "has no other claim name, such as %s",
    (name) => {
      expect(macOfClaimName(name)).toBeUndefined();
    },
  );

  it("is a number of 48 bits", () => {
    expect([-1, 0.5, MAX_MAC + 1, Number.NaN].map(macFromNumber)).toEqual(Array(4).fill(undefined));
    expect([0, MAX_MAC].map(macFromNumber)).toEqual([0, MAX_MAC]);
  });
});
