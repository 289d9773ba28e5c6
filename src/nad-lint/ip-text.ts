import { Address4, Address6 } from "ip-address";

/** Addresses and networks as IPAM plugins read them: no zone, no leading zeroes, an IPv4 address in IPv6 form is IPv4. */

const IPV4_BITS = 32;
const IPV6_BITS = 128;

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
    if (!text.includes(":")) return new Address4(text);
    const address = new Address6(text);
    if (address.zone !== "") return undefined;
    return address.is4() && address.subnetMask === IPV6_BITS ? address.to4() : address;
  } catch {
    return undefined;
  }
}

export function isSameFamily(one: IpAddress, other: IpAddress): boolean {
  return one instanceof Address4 === other instanceof Address4;
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
