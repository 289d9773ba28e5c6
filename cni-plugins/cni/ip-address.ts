/** IP addresses and prefixes as they stand in JSON: bytes inside, the usual text outside. */

const IPV4_BYTES = 4;
const IPV6_BYTES = 16;

/** 4 or 16 bytes. */
export type IpAddress = Uint8Array;

export interface IpPrefix {
  readonly address: IpAddress;
  readonly length: number;
}

/** Undefined when it is none. An IPv4 address in IPv6 form is an IPv4 address. */
export function parseIpAddress(text: string): IpAddress | undefined {
  if (!text.includes(":")) return parseIpv4(text);
  const bytes = parseIpv6(text);
  return bytes !== undefined && isMappedIpv4(bytes) ? bytes.slice(IPV6_BYTES - IPV4_BYTES) : bytes;
}

/** `address/length`, with the bits of the host kept. */
export function parseIpPrefix(text: string): IpPrefix | undefined {
  const [before = "", after, ...more] = text.split("/");
  const address = parseIpAddress(before);
  const length = after === undefined ? undefined : parseDecimal(after, 3);
  if (address === undefined || length === undefined || more.length > 0) return undefined;
  const inIpv6Form = address.length === IPV4_BYTES && before.includes(":");
  const usable = inIpv6Form ? length - (IPV6_BYTES - IPV4_BYTES) * 8 : length;
  return usable < 0 || usable > address.length * 8 ? undefined : { address, length: usable };
}

/** RFC 5952. */
export function formatIpAddress(address: IpAddress): string {
  if (address.length === IPV4_BYTES) return address.join(".");
  const groups = Array.from({ length: 8 }, (_, i) => ((address[2 * i] ?? 0) << 8) | (address[2 * i + 1] ?? 0));
  const zeros = longestZeros(groups);
  const text = (part: number[]) => part.map((group) => group.toString(16)).join(":");
  if (zeros === undefined) return text(groups);
  return `${text(groups.slice(0, zeros.start))}::${text(groups.slice(zeros.end))}`;
}

export function formatIpPrefix({ address, length }: IpPrefix): string {
  return `${formatIpAddress(address)}/${length}`;
}

export function isIpv4(address: IpAddress): boolean {
  return address.length === IPV4_BYTES;
}

/** The first address of the prefix. */
export function networkOf({ address, length }: IpPrefix): IpAddress {
  return address.map((byte, i) => byte & maskByte(length, i));
}

/** The address after the network's own, where a gateway is by convention. */
export function firstHostOf(prefix: IpPrefix): IpAddress {
  const next = networkOf(prefix);
  for (let i = next.length - 1; i >= 0; i--) {
    const byte = ((next[i] ?? 0) + 1) & 0xff;
    next[i] = byte;
    if (byte !== 0) break;
  }
  return next;
}

/** Every address of the other family is outside. */
export function contains(prefix: IpPrefix, address: IpAddress): boolean {
  const network = networkOf(prefix);
  return (
    address.length === network.length &&
    network.every((byte, i) => byte === ((address[i] ?? 0) & maskByte(prefix.length, i)))
  );
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

export function samePrefix(a: IpPrefix, b: IpPrefix): boolean {
  return a.length === b.length && sameBytes(a.address, b.address);
}

function maskByte(length: number, at: number): number {
  const bits = Math.min(8, Math.max(0, length - at * 8));
  return (0xff00 >> bits) & 0xff;
}

function isMappedIpv4(bytes: Uint8Array): boolean {
  return bytes.every((byte, i) => i >= 12 || byte === (i >= 10 ? 0xff : 0));
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split(".").map((part) => (part.length > 1 && part[0] === "0" ? undefined : parseDecimal(part, 3)));
  const bytes = parts.filter((part) => part !== undefined && part <= 0xff);
  return parts.length === IPV4_BYTES && bytes.length === IPV4_BYTES ? Uint8Array.from(parts as number[]) : undefined;
}

function parseIpv6(text: string): Uint8Array | undefined {
  const [head = "", tail, ...more] = text.split("::");
  if (more.length > 0) return undefined;
  const before = parseGroups(head, tail === undefined);
  const after = tail === undefined ? [] : parseGroups(tail, true);
  if (before === undefined || after === undefined) return undefined;
  const missing = IPV6_BYTES - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined;
  return Uint8Array.from([...before, ...new Array<number>(missing).fill(0), ...after]);
}

/** The bytes of `a:b:c`; the last group may be an IPv4 address. */
function parseGroups(text: string, last: boolean): number[] | undefined {
  const bytes: number[] = [];
  const groups = text === "" ? [] : text.split(":");
  for (const [i, group] of groups.entries()) {
    if (group.includes(".")) {
      const ipv4 = last && i === groups.length - 1 ? parseIpv4(group) : undefined;
      if (ipv4 === undefined) return undefined;
      bytes.push(...ipv4);
      continue;
    }
    const value = parseHexadecimal(group);
    if (value === undefined) return undefined;
    bytes.push(value >> 8, value & 0xff);
  }
  return bytes;
}

function parseHexadecimal(text: string): number | undefined {
  if (text.length < 1 || text.length > 4) return undefined;
  for (const c of text.toLowerCase()) if (!((c >= "0" && c <= "9") || (c >= "a" && c <= "f"))) return undefined;
  return Number.parseInt(text, 16);
}

function parseDecimal(text: string, digits: number): number | undefined {
  if (text === "" || text.length > digits) return undefined;
  for (const c of text) if (c < "0" || c > "9") return undefined;
  return Number.parseInt(text, 10);
}

/** The longest run of at least two zero groups, the first of the longest ones. */
function longestZeros(groups: readonly number[]): { start: number; end: number } | undefined {
  let best: { start: number; end: number } | undefined;
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (groups[end] === 0) end++;
    if (end - start >= 2 && end - start > (best === undefined ? 0 : best.end - best.start)) best = { start, end };
  }
  return best;
}
