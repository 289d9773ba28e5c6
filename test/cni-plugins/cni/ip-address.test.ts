import { isIP } from "node:net";
import fc from "fast-check";
import { Address4, Address6 } from "ip-address";
import { describe, expect, it } from "vitest";
import {
  contains,
  firstHostOf,
  formatIpAddress,
  formatIpPrefix,
  networkOf,
  parseIpAddress,
  parseIpPrefix,
} from "../../../cni-plugins/cni/ip-address.ts";
import { share } from "../../support/share.ts";

const prefix = (text: string) => {
  const parsed = parseIpPrefix(text);
  if (parsed === undefined) throw new Error(`${text} is no prefix`);
  return parsed;
};

const isNotMapped = (text: string): boolean => parseIpAddress(text)?.length === 16;

const bytesOf = (address: Address4 | Address6): number[] =>
  address instanceof Address4 ? address.toArray() : address.toUnsignedByteArray();

describe("IP addresses", () => {
  it.each([
    ["IPv4", Address4, fc.ipV4(), 32, (last: string) => `10.1.2.${Number.parseInt(last, 16) & 0xff}`],
    ["IPv6", Address6, fc.ipV6().filter(isNotMapped), 128, (last: string) => `fd00:0:0:1::${last}`],
  ] as const)("of %s are read, written and held against prefixes as ip-address does", (_, Other, any, bits, near) => {
    const neighbour = fc.integer({ min: 1, max: 0xffff }).map((last) => near(last.toString(16)));
    const address = fc.oneof(any, neighbour);
    const agree = (text: string, length: number, another: string): void => {
      const [parsed, other] = [prefix(`${text}/${length}`), new Other(`${text}/${length}`)];
      expect([...parsed.address]).toEqual(bytesOf(other));
      expect(formatIpPrefix(parsed)).toBe(`${other.correctForm()}/${length}`);
      expect(formatIpAddress(networkOf(parsed))).toBe(other.startAddress().correctForm());
      if (length < bits) expect(formatIpAddress(firstHostOf(parsed))).toBe(other.startAddressExclusive().correctForm());
      const isInside = new Other(another).isInSubnet(other as Address4 & Address6);
      expect(contains(parsed, parseIpAddress(another) ?? new Uint8Array())).toBe(isInside);
    };
    fc.assert(fc.property(address, fc.integer({ min: 0, max: bits }), address, agree), { numRuns: share(500) });
  });

  it("are recognised as Node recognises them", () => {
    const text = fc.oneof(fc.ipV4(), fc.stringMatching(/^[0-9a-f:.]{1,20}$/), fc.stringMatching(/^[0-9.]{1,15}$/));
    fc.assert(fc.property(text, (one) => (parseIpAddress(one) !== undefined) === (isIP(one) !== 0)));
  });

  it("in IPv6 form that are IPv4 ones are written as such", () => {
    expect(formatIpAddress(parseIpAddress("::ffff:10.1.2.3") ?? new Uint8Array())).toBe("10.1.2.3");
  });

  it.each(["10.0.0.1", "10.0.0.1/33", "10.0.0.1/-1", "10.0.0.1/8/8", "::1/129", "/8", "10.0.0.1/"])(
    "%s is no prefix",
    (text) => expect(parseIpPrefix(text)).toBeUndefined(),
  );

  it("have networks, and gateways at their first host", () => {
    expect(formatIpAddress(networkOf(prefix("10.1.3.77/22")))).toBe("10.1.0.0");
    expect(formatIpAddress(firstHostOf(prefix("10.1.3.77/22")))).toBe("10.1.0.1");
    expect(formatIpAddress(firstHostOf(prefix("fd00::ff:5/112")))).toBe("fd00::ff:1");
    expect(formatIpPrefix(prefix("fd00:0:0::5/64"))).toBe("fd00::5/64");
  });

  it("are inside a prefix of their own family or not", () => {
    expect(contains(prefix("10.0.0.0/8"), Uint8Array.of(10, 9, 9, 9))).toBe(true);
    expect(contains(prefix("10.0.0.0/8"), Uint8Array.of(11, 0, 0, 0))).toBe(false);
    expect(contains(prefix("::/0"), Uint8Array.of(10, 0, 0, 0))).toBe(false);
  });
});
