/** Addresses and routes in results: read from an IPAM plugin's answer of any version, written in the request's. */

import { CniError, DELEGATE_FAILED } from "./cni-error.ts";
import type { ConfigObject, JsonObject } from "./config-object.ts";
import {
  formatIpAddress,
  formatIpPrefix,
  type IpAddress,
  type IpPrefix,
  isIpv4,
  parseIpAddress,
  parseIpPrefix,
} from "./ip-address.ts";
import { type Dns, readDns } from "./result.ts";
import { atLeast, type CniVersion, parseVersion } from "./version.ts";

export interface AddressConfig {
  readonly address: IpPrefix;
  readonly gateway: IpAddress | undefined;
  /** Index into the result's interfaces. */
  readonly interface?: number;
}

export interface RouteConfig {
  readonly destination: IpPrefix;
  readonly gateway: IpAddress | undefined;
  /** 0 or less: the kernel's default. So for the next two, and the table. */
  readonly mtu: number;
  readonly advmss: number;
  readonly priority: number;
  readonly table: number | undefined;
  /** The kernel gets its last eight bits, as from the reference. */
  readonly scope: number | undefined;
}

export interface AddressResult {
  readonly ips: readonly AddressConfig[];
  readonly routes: readonly RouteConfig[];
  readonly dns: Dns;
}

const U32_MAX = 0xffffffff;
const S32_MIN = -0x80000000;

/** `version`: for an answer that names none. */
export function readAddressResult(answer: ConfigObject, version: CniVersion): AddressResult {
  const named = answer.raw("cniVersion");
  // What is no string names no version, as for the reference.
  const spoken = parseVersion(typeof named === "string" && named !== "" ? named : version);
  const dns = readDns(answer);
  if (atLeast(spoken, "0.3.0")) {
    return {
      ips: answer.objects("ips").map((ip) => readIp(ip, "address")),
      routes: answer.objects("routes").map(readRoute),
      dns,
    };
  }
  const present = ["ip4", "ip6"].filter((key) => answer.raw(key) !== undefined).map((key) => answer.object(key));
  const ips = present.map((ip) => readIp(ip, "ip"));
  return { ips, routes: present.flatMap((ip) => ip.objects("routes").map(readRoute)), dns };
}

function readIp(ip: ConfigObject, key: string): AddressConfig {
  return { address: readPrefix(ip, key), gateway: readAddress(ip, "gateway") };
}

function readRoute(route: ConfigObject): RouteConfig {
  return {
    destination: readPrefix(route, "dst"),
    gateway: readAddress(route, "gw"),
    mtu: route.integer("mtu", S32_MIN, U32_MAX) ?? 0,
    advmss: route.integer("advmss", S32_MIN, U32_MAX) ?? 0,
    priority: route.integer("priority", S32_MIN, U32_MAX) ?? 0,
    table: route.integer("table", S32_MIN, U32_MAX),
    scope: route.integer("scope", S32_MIN, U32_MAX),
  };
}

function readPrefix(from: ConfigObject, key: string): IpPrefix {
  const prefix = parseIpPrefix(from.string(key) ?? "");
  if (prefix !== undefined) return prefix;
  throw new CniError(DELEGATE_FAILED, from.fault(key, "an address with a prefix length such as 10.1.0.2/24").message);
}

function readAddress(from: ConfigObject, key: string): IpAddress | undefined {
  const text = from.string(key);
  if (!text) return undefined;
  const address = parseIpAddress(text);
  if (address !== undefined) return address;
  throw new CniError(DELEGATE_FAILED, from.fault(key, "an IP address").message);
}

/** The part of a result that is about addresses, in the version's form; empty parts are left out. */
export function encodeAddresses(
  version: CniVersion,
  ips: readonly AddressConfig[],
  routes: readonly RouteConfig[],
): JsonObject {
  if (!atLeast(version, "0.3.0")) return encodeOldAddresses(ips, routes);
  const withVersion = !atLeast(version, "1.0.0");
  const encoded = ips.map(({ address, gateway, interface: index }) => ({
    ...(withVersion ? { version: isIpv4(address.address) ? "4" : "6" } : {}),
    ...(index === undefined ? {} : { interface: index }),
    address: formatIpPrefix(address),
    ...(gateway === undefined ? {} : { gateway: formatIpAddress(gateway) }),
  }));
  return {
    ...(encoded.length > 0 ? { ips: encoded } : {}),
    ...(routes.length > 0 ? { routes: routes.map(encodeRoute) } : {}),
  };
}

function encodeRoute({ destination, gateway, mtu, advmss, priority, table, scope }: RouteConfig): JsonObject {
  return {
    dst: formatIpPrefix(destination),
    ...(gateway === undefined ? {} : { gw: formatIpAddress(gateway) }),
    ...(mtu === 0 ? {} : { mtu }),
    ...(advmss === 0 ? {} : { advmss }),
    ...(priority === 0 ? {} : { priority }),
    ...(table === undefined ? {} : { table }),
    ...(scope === undefined ? {} : { scope }),
  };
}

/** One address of each family, with its family's routes: there is no place for more. */
function encodeOldAddresses(ips: readonly AddressConfig[], routes: readonly RouteConfig[]): JsonObject {
  const result: Record<string, JsonObject> = {};
  for (const [key, wanted] of [
    ["ip4", true],
    ["ip6", false],
  ] as const) {
    const ip = ips.find(({ address }) => isIpv4(address.address) === wanted);
    if (ip === undefined) continue;
    const own = routes.filter(({ destination }) => isIpv4(destination.address) === wanted);
    const encoded = own.map(({ destination, gateway }) => ({
      dst: formatIpPrefix(destination),
      ...(gateway === undefined ? {} : { gw: formatIpAddress(gateway) }),
    }));
    result[key] = {
      ip: formatIpPrefix(ip.address),
      ...(ip.gateway === undefined ? {} : { gateway: formatIpAddress(ip.gateway) }),
      ...(encoded.length > 0 ? { routes: encoded } : {}),
    };
  }
  return result;
}
