import { CniError } from "../../cni-plugins/cni/cni-error.ts";
import { ConfigObject, isJsonObject } from "../../cni-plugins/cni/config-object.ts";
import {
  addressAt,
  hostBits,
  type IpAddress,
  isIpv4,
  isMapped,
  isSameFamily,
  isWithin,
  networkText,
  parseAddress,
  parsePrefix,
} from "./ip-address.ts";

/** What the IPAM plugins `host-local` and `static` would refuse. Other IPAM plugins read their own keys. */

const CHECKS: Readonly<Record<string, (ipam: ConfigObject, version: string, runtime: ConfigObject) => void>> = {
  "host-local": checkRanges,
  static: checkStatic,
};

const LIST_OF_LISTS = 'a list of lists such as [[{"subnet": "10.1.0.0/24"}]]';
const SMALLEST_NETWORK_BITS = 2;
/** Each is compared with each other. No configuration has more. */
const MAX_COMPARED = 64;

/** Results of these versions have room for one address of a family. */
export const ONE_ADDRESS_VERSIONS: readonly string[] = ["0.1.0", "0.2.0"];

/** The first fault, with the key; undefined for none. `version`: of the configuration. `runtime`: its `runtimeConfig`. */
export function ipamFault(
  ipam: ConfigObject,
  version: string,
  runtime: ConfigObject = new ConfigObject({}),
): string | undefined {
  const type = ipam.string("type") ?? "";
  try {
    if (Object.hasOwn(CHECKS, type)) CHECKS[type]?.(ipam, version, runtime);
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
  readonly gateway: IpAddress;
  readonly place: string;
}

function checkRanges(ipam: ConfigObject, version: string, runtime: ConfigObject): void {
  ipam.string("dataDir");
  ipam.string("resolvConf");
  const read = readRanges(ipam, runtime);
  if (read.length === 0) throw ipam.missing("ranges", 'write such as [[{"subnet": "10.1.0.0/24"}]]');
  requireRoom(
    read.flatMap(([first]) => first?.subnet ?? []),
    version,
  );
  refuseOverlap(read.flat().slice(0, MAX_COMPARED));
  for (const set of read) requireFreeAddress(set);
  checkRoutes(ipam);
}

/** A pod gets an address of each list. */
export function readRanges(ipam: ConfigObject, runtime: ConfigObject): Range[][] {
  const own = ipam.raw("subnet") === undefined ? [] : [[readRange(ipam, "ipam")]];
  return [...readSets(runtime, "ipRanges", "runtimeConfig"), ...own, ...readSets(ipam, "ranges", "ipam")];
}

function readSets(from: ConfigObject, key: string, path: string): Range[][] {
  const sets = from.raw(key) ?? [];
  if (!Array.isArray(sets) || !sets.every(Array.isArray)) throw from.fault(key, LIST_OF_LISTS);
  return sets.map((set, index) => {
    if (set.length === 0) throw from.fault(key, "free of empty lists");
    return readSet(set, `${path}.${key}[${index}]`, () => from.fault(key, LIST_OF_LISTS));
  });
}

/** Each of the addresses is given to an interface. */
function requireRoom(addresses: readonly IpAddress[], version: string): void {
  const ofIpv4 = addresses.filter(isIpv4).length;
  if (!ONE_ADDRESS_VERSIONS.includes(version) || Math.max(ofIpv4, addresses.length - ofIpv4) <= 1) return;
  throw new CniError(
    0,
    `"ipam" gives several addresses of one family, for which cniVersion ${version} has no room: set cniVersion to 0.3.1 or later`,
  );
}

/** The plugin never gives the gateway's address. */
function requireFreeAddress(set: readonly Range[]): void {
  const isFull = ({ first, last, gateway }: Range): boolean => first === last && gateway.bigInt() === first;
  const [range] = set;
  if (range === undefined || !set.every(isFull)) return;
  throw new CniError(0, `"${range.place}" has no address but that of the gateway: make the range larger`);
}

function readSet(set: readonly unknown[], path: string, fault: () => CniError): Range[] {
  const ranges = set.map((range, at) => {
    const place = `${path}[${at}]`;
    if (!isJsonObject(range)) throw fault();
    return readRange(new ConfigObject(range, `${place}.`), place);
  });
  const [first, ...others] = ranges;
  const odd = others.find(({ subnet }) => first !== undefined && !isSameFamily(subnet, first.subnet));
  if (odd === undefined) return ranges;
  throw new CniError(0, `"${odd.place}" mixes IPv4 and IPv6 in one list: give each family a list of its own`);
}

function readRange(range: ConfigObject, place: string): Range {
  const subnet = parsePrefix(range.string("subnet") ?? "");
  if (subnet === undefined || isMapped(subnet)) throw range.fault("subnet", "a network such as 10.1.0.0/24");
  if (hostBits(subnet) < SMALLEST_NETWORK_BITS) throw range.fault("subnet", "a network with room for two addresses");
  if (subnet.bigInt() !== subnet.startAddress().bigInt())
    throw range.fault("subnet", `the network ${networkText(subnet)}`);
  const network = subnet.startAddress().bigInt();
  const first = readWithin(range, "rangeStart", subnet)?.bigInt() ?? network + 1n;
  const end = readWithin(range, "rangeEnd", subnet)?.bigInt();
  if (end !== undefined && first > end) {
    throw range.fault("rangeEnd", `${addressAt(first, subnet).correctForm()} or an address after it`);
  }
  const gateway = readAddress(range, "gateway") ?? addressAt(network + 1n, subnet);
  return { subnet, first, last: end ?? lastOf(subnet, first), gateway, place };
}

/** Without `rangeEnd`: up to the broadcast address of IPv4, unless the range starts there. */
function lastOf(subnet: IpAddress, first: bigint): bigint {
  const last = subnet.endAddress().bigInt() - (isIpv4(subnet) ? 1n : 0n);
  return last < first ? first : last;
}

function readWithin(range: ConfigObject, key: string, subnet: IpAddress): IpAddress | undefined {
  const address = readAddress(range, key);
  if (address === undefined || isWithin(address, subnet)) return address;
  throw range.fault(key, `an address of ${networkText(subnet)}`);
}

export function readAddress(from: ConfigObject, key: string): IpAddress | undefined {
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

function checkStatic(ipam: ConfigObject, version: string): void {
  requireRoom(
    readAddresses(ipam).map(({ prefix }) => prefix),
    version,
  );
  checkRoutes(ipam);
}

export function readAddresses(ipam: ConfigObject): { prefix: IpAddress; gateway: IpAddress | undefined }[] {
  return ipam.objects("addresses").map((address) => {
    const prefix = parsePrefix(address.string("address") ?? "");
    if (prefix === undefined) throw address.fault("address", "an address with a prefix length such as 10.1.0.2/24");
    return { prefix, gateway: readAddress(address, "gateway") };
  });
}

function checkRoutes(ipam: ConfigObject): void {
  for (const route of ipam.objects("routes")) {
    if (parsePrefix(route.string("dst") ?? "") === undefined) throw route.fault("dst", "a network such as 10.2.0.0/16");
    readAddress(route, "gw");
  }
}
