import { CniError } from "../../cni-plugins/protocol/cni-error.ts";
import { ConfigObject, isJsonObject } from "../../cni-plugins/protocol/config-object.ts";
import { hostBits, type IpAddress, isSameFamily, isWithin, networkText, parseAddress, parsePrefix } from "./ip-text.ts";

/** What the IPAM plugins `host-local` and `static` would refuse. Other IPAM plugins read their own keys. */

const CHECKS: Readonly<Record<string, (ipam: ConfigObject) => void>> = {
  "host-local": checkRanges,
  static: checkStatic,
};

const SMALLEST_NETWORK_BITS = 2;
/** Comparing all of more would take long, and nobody has as many. */
const MAX_COMPARED = 64;

/** The first fault, with the key; undefined for none. */
export function ipamFault(ipam: ConfigObject): string | undefined {
  const type = ipam.string("type") ?? "";
  try {
    if (Object.hasOwn(CHECKS, type)) CHECKS[type]?.(ipam);
    return undefined;
  } catch (error) {
    if (error instanceof CniError) return error.message;
    throw error;
  }
}

interface Range {
  readonly subnet: IpAddress;
  readonly first: bigint;
  readonly last: bigint;
  readonly place: string;
}

function checkRanges(ipam: ConfigObject): void {
  const sets = ipam.raw("ranges") ?? [];
  if (!Array.isArray(sets) || !sets.every(Array.isArray)) {
    throw ipam.fault("ranges", 'a list of lists such as [[{"subnet": "10.1.0.0/24"}]]');
  }
  const ranges: Range[] = ipam.raw("subnet") === undefined ? [] : [readRange(ipam, "ipam")];
  for (const [index, set] of sets.entries()) {
    if (set.length === 0) throw ipam.fault("ranges", "free of empty lists");
    ranges.push(...readSet(ipam, set, index));
  }
  if (ranges.length === 0) throw ipam.fault("ranges", 'given, such as [[{"subnet": "10.1.0.0/24"}]]');
  refuseOverlap(ranges.slice(0, MAX_COMPARED));
  checkRoutes(ipam);
}

function readSet(ipam: ConfigObject, set: readonly unknown[], index: number): Range[] {
  const ranges = set.map((range, at) => {
    const place = `ipam.ranges[${index}][${at}]`;
    if (!isJsonObject(range)) throw ipam.fault("ranges", 'a list of lists such as [[{"subnet": "10.1.0.0/24"}]]');
    return readRange(new ConfigObject(range, `${place}.`), place);
  });
  const [first, ...others] = ranges;
  const odd = others.find(({ subnet }) => first !== undefined && !isSameFamily(subnet, first.subnet));
  if (odd === undefined) return ranges;
  throw new CniError(0, `"${odd.place}" mixes IPv4 and IPv6 in one list: give each family a list of its own`);
}

function readRange(range: ConfigObject, place: string): Range {
  const subnet = parsePrefix(range.string("subnet") ?? "");
  if (subnet === undefined) throw range.fault("subnet", "a network such as 10.1.0.0/24");
  if (hostBits(subnet) < SMALLEST_NETWORK_BITS) throw range.fault("subnet", "a network with room for two addresses");
  if (subnet.bigInt() !== subnet.startAddress().bigInt())
    throw range.fault("subnet", `the network ${networkText(subnet)}`);
  const first = readWithin(range, "rangeStart", subnet) ?? subnet.startAddress();
  const last = readWithin(range, "rangeEnd", subnet) ?? subnet.endAddress();
  if (first.bigInt() > last.bigInt()) throw range.fault("rangeEnd", `${first.correctForm()} or an address after it`);
  readAddress(range, "gateway");
  return { subnet, first: first.bigInt(), last: last.bigInt(), place };
}

function readWithin(range: ConfigObject, key: string, subnet: IpAddress): IpAddress | undefined {
  const address = readAddress(range, key);
  if (address === undefined || isWithin(address, subnet)) return address;
  throw range.fault(key, `an address of ${networkText(subnet)}`);
}

function readAddress(from: ConfigObject, key: string): IpAddress | undefined {
  const text = from.string(key) ?? "";
  const address = text === "" ? undefined : parseAddress(text);
  if (text !== "" && address === undefined) throw from.fault(key, "an IP address");
  return address;
}

function refuseOverlap(ranges: readonly Range[]): void {
  for (const [index, range] of ranges.entries()) {
    const other = ranges
      .slice(0, index)
      .find(
        ({ subnet, first, last }) => isSameFamily(subnet, range.subnet) && first <= range.last && range.first <= last,
      );
    if (other === undefined) continue;
    throw new CniError(0, `"${range.place}" overlaps "${other.place}": give each range addresses of its own`);
  }
}

function checkStatic(ipam: ConfigObject): void {
  for (const address of ipam.objects("addresses")) {
    if (parsePrefix(address.string("address") ?? "") === undefined) {
      throw address.fault("address", "an address with a prefix length such as 10.1.0.2/24");
    }
    readAddress(address, "gateway");
  }
  checkRoutes(ipam);
}

function checkRoutes(ipam: ConfigObject): void {
  for (const route of ipam.objects("routes")) {
    if (parsePrefix(route.string("dst") ?? "") === undefined) throw route.fault("dst", "a network such as 10.2.0.0/16");
    readAddress(route, "gw");
  }
}
