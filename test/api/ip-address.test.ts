import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { IP_ADDRESS_PATTERN } from "../../src/api/ip-address.ts";
import { share } from "../support/share.ts";

const isAddress = (text: string): boolean => new RegExp(IP_ADDRESS_PATTERN).test(text);

/** Addresses, and texts that differ from one in a character. */
const almostAddress = fc
  .tuple(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(), fc.constantFrom("", ":", ".", "0", "f", "g", "25", "::"))
  .chain(([address, at, piece]) => {
    const index = at % (address.length + 1);
    const changed = address.slice(0, index) + piece + address.slice(index + 1);
    return fc.constantFrom(address, changed);
  });

describe("the pattern of an IP address", () => {
  it("takes what Node takes, but for zones", () => {
    fc.assert(
      fc.property(almostAddress, (text) => {
        expect([text, isAddress(text)]).toEqual([text, isIP(text) !== 0]);
      }),
      { numRuns: share(2_000) },
    );
  });

  it.each(["::", "1::", "::1", "fd00::53", "::ffff:10.0.0.1", "1:2:3:4:5:6:7::", "0.0.0.0", "255.255.255.255"])(
    "takes %s",
    (text) => {
      expect(isAddress(text)).toBe(true);
    },
  );

  it.each(["", "fe80::1%eth0", "10.0.0.0/8", "01.2.3.4", "256.1.1.1", "1:2:3:4:5:6:7:8::", ":::", "[::1]"])(
    "refuses %s",
    (text) => {
      expect(isAddress(text)).toBe(false);
    },
  );
});
