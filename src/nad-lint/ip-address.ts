import { Address4, Address6 } from "ip-address";

/** Addresses and networks as IPAM plugins read them: no zone, no leading zeroes, an IPv4 address in IPv6 form is IPv4. */

const IPV4_BITS = 32;
const IPV6_BITS = 128;
/** Of `::ffff:10.1.0.1`, what is before the address of IPv4. */
const MAPPED = 0xffffn;

export type IpAddress = Address4 | Address6;

/** One address without a prefix length; undefined for anything else. */
export function parseAddress(text: string): IpAddress | undefined {
  return text.includes("/") ? undefined : parse(text);
}

/** `address/length`, with the bits of the host kept; undefined for anything else. */
export function parsePrefix(text: string): IpAddress | undefined {
  return text.includes("/") ? parse(text) : undefined;
}

function parse(text: string): IpAddress | undefined {
  try {
    // Go reads a length with leading zeroes.
    const usual = text.replace(/\/0+(?=\d)/, "/");
    if (!text.includes(":")) return new Address4(usual);
    const address = new Address6(usual);
    if (address.zone !== "") return undefined;
    if (!isMapped(address) || address.subnetMask !== IPV6_BITS) return address;
    return Address4.fromBigInt(BigInt.asUintN(IPV4_BITS, address.bigInt()));
  } catch {
    return undefined;
  }
}

/** An IPv4 address in IPv6 form, with a prefix length of IPv6. */
export function isMapped(address: IpAddress): boolean {
  return !isIpv4(address) && address.bigInt() >> BigInt(IPV4_BITS) === MAPPED;
}

export function isIpv4(address: IpAddress): boolean {
  return address instanceof Address4;
}

export function isSameFamily(one: IpAddress, other: IpAddress): boolean {
  return isIpv4(one) === isIpv4(other);
}

export function hostBits(prefix: IpAddress): number {
  return (prefix instanceof Address4 ? IPV4_BITS : IPV6_BITS) - prefix.subnetMask;
}

/** Its first address, in `address/length`. */
export function networkText(prefix: IpAddress): string {
  return `${prefix.startAddress().correctForm()}/${prefix.subnetMask}`;
}

/** Whether the address is in the network. */
export function isWithin(address: IpAddress, prefix: IpAddress): boolean {
  const at = address.bigInt();
  return isSameFamily(address, prefix) && prefix.startAddress().bigInt() <= at && at <= prefix.endAddress().bigInt();
}

/** As an address of the family of `like`. */
export function addressAt(at: bigint, like: IpAddress): IpAddress {
  return like instanceof Address4 ? Address4.fromBigInt(at) : Address6.fromBigInt(at);
}

/** Of IPv6: reachable on whatever link a route names. */
export function isLinkLocal(address: IpAddress): boolean {
  return address instanceof Address6 && address.bigInt() >> 118n === 0xfe80n >> 6n;
}
