import type { AddressingConfig } from "../../cni-plugins/bridge/config.ts";
import type { ConfigObject } from "../../cni-plugins/cni/config-object.ts";
import { addressAt, type IpAddress, isIpv4, isMapped, isSameFamily, isWithin, parsePrefix } from "./ip-address.ts";
import { readAddresses, readRanges } from "./ipam-checks.ts";
import { getsAddressesElsewhere } from "./ipam-keys.ts";

/** What `host-local` and `static` give each pod, of a configuration whose `ipam` has no fault. */

export interface GivenAddress {
  /** An address of the network, or any of it. */
  readonly prefix: IpAddress;
  readonly gateway: IpAddress | undefined;
}

/** Each is compared with each other. No configuration has more. */
const MAX_ADDRESSES = 64;

/** Undefined where the pod or one of several ranges decides. The gateway is also one that the plugin adds. */
export function addressesGiven(config: ConfigObject, addressing: AddressingConfig): GivenAddress[] | undefined {
  const given = givenBy(config);
  if (given === undefined || given.length > MAX_ADDRESSES) return undefined;
  return given.map(({ prefix, gateway }) => ({
    prefix,
    gateway: gateway ?? (addressing.gateway ? addressAt(prefix.startAddress().bigInt() + 1n, prefix) : undefined),
  }));
}

/** Whether a pod gets an address of IPv6, as far as the configuration says. */
export function givesIpv6(config: ConfigObject): boolean {
  const [ipam, runtime] = [config.object("ipam"), config.object("runtimeConfig")];
  const type = ipam.raw("type");
  if (type === "static") return readAddresses(ipam).some(({ prefix }) => !isIpv4(prefix));
  return (
    type === "host-local" &&
    readRanges(ipam, runtime)
      .flat()
      .some(({ subnet }) => !isIpv4(subnet))
  );
}

/** The first address that the kernel refuses for an interface of a pod, and why. */
export function addressFault(config: ConfigObject, addressing: AddressingConfig): string | undefined {
  const isStatic = config.object("ipam").raw("type") === "static";
  const prefixes = (addressesGiven(config, addressing) ?? []).map(({ prefix }) => prefix);
  for (const [index, one] of prefixes.entries()) {
    const text = `"ipam" gives the pod ${one.correctForm()}/${one.subnetMask}`;
    const kind = kindOf(one, isStatic);
    if (kind !== undefined) return `${text}, which is ${kind}: name a unicast address of its own`;
    if (isStatic && prefixes.slice(0, index).some((before) => isSameOnInterface(before, one))) {
      return `${text} twice: leave one out`;
    }
  }
  return undefined;
}

/** Undefined for one that the kernel accepts, as it does every one of IPv4. */
function kindOf(prefix: IpAddress, isStatic: boolean): string | undefined {
  if (isIpv4(prefix)) return undefined;
  const address = prefix.bigInt();
  if (address >> 120n === 0xffn) return "multicast";
  // What host-local has is a network.
  if (!isStatic || address > 1n) return undefined;
  return address === 0n ? "unspecified" : "loopback";
}

/** An interface has an address of IPv6 once, and one of IPv4 once with each prefix length. */
function isSameOnInterface(one: IpAddress, other: IpAddress): boolean {
  if (!isSameFamily(one, other) || one.bigInt() !== other.bigInt()) return false;
  return one.subnetMask === other.subnetMask || !(isIpv4(one) || isMapped(one));
}

/** A bridge has one gateway address of IPv4, and one of IPv6 in each network. */
export function gatewayFault(config: ConfigObject, addressing: AddressingConfig): string | undefined {
  if (!addressing.gateway || addressing.forceAddress) return undefined;
  const gateways = (addressesGiven(config, addressing) ?? []).flatMap(({ prefix, gateway }) => {
    const onBridge = gateway && parsePrefix(`${gateway.correctForm()}/${prefix.subnetMask}`);
    return onBridge === undefined ? [] : [onBridge];
  });
  for (const [index, one] of gateways.entries()) {
    const other = gateways.slice(0, index).find((before) => isInTheWay(before, one));
    if (other === undefined) continue;
    return `"ipam" gives the bridge two gateways, ${other.correctForm()} and ${one.correctForm()}: leave one out, or set "forceAddress"`;
  }
  return undefined;
}

function isInTheWay(present: IpAddress, wanted: IpAddress): boolean {
  if (!isSameFamily(present, wanted)) return false;
  if (present.bigInt() === wanted.bigInt() && present.subnetMask === wanted.subnetMask) return false;
  return isIpv4(wanted) || isWithin(wanted, present) || isWithin(present, wanted);
}

function givenBy(config: ConfigObject): GivenAddress[] | undefined {
  const [ipam, runtime] = [config.object("ipam"), config.object("runtimeConfig")];
  const type = ipam.raw("type");
  if (type === "host-local") {
    const sets = readRanges(ipam, runtime);
    if (sets.some((set) => set.length > 1)) return undefined;
    return sets.flat().map(({ subnet: prefix, gateway }) => ({ prefix, gateway }));
  }
  return type === "static" && !getsAddressesElsewhere(config) ? readAddresses(ipam) : undefined;
}
