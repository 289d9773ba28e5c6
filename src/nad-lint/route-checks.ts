import type { AddressingConfig } from "../../cni-plugins/bridge/config.ts";
import type { ConfigObject } from "../../cni-plugins/cni/config-object.ts";
import type { Request } from "../../cni-plugins/cni/request.ts";
import { addressesGiven } from "./given-addresses.ts";
import {
  hostBits,
  type IpAddress,
  isIpv4,
  isLinkLocal,
  isSameFamily,
  isWithin,
  networkText,
  parsePrefix,
} from "./ip-address.ts";
import { ONE_ADDRESS_VERSIONS, readAddress } from "./ipam-checks.ts";

/** What the kernel refuses of routes that IPAM plugins pass on. */

/** From rtnetlink: 253 is for neighbours, 254 for addresses of one's own, 255 says that there is no route. */
const [SCOPE_LINK, SCOPE_HOST, SCOPE_NOWHERE] = [253, 254, 255];

/** From rtnetlink: the table of routes that name none. */
const TABLE_MAIN = 254;
/** The priority that the kernel gives a route of IPv6 without one. */
const IPV6_PRIORITY = 1024;

/** Each is compared with each address. No configuration has more. */
const MAX_ROUTES = 500;

interface Route {
  readonly destination: IpAddress;
  readonly gateway: IpAddress | undefined;
  readonly scope: number;
  readonly table: number;
  readonly priority: number;
  /** MTU and segment size. */
  readonly sizes: string;
}

/** A route as a result of the first versions has it: without these keys. */
const PLAIN = { scope: 0, table: TABLE_MAIN, priority: 0, sizes: "" };

/**
 * The first route that the kernel refuses, and why; undefined for none, and where the pod or one of several ranges decides. Of
 * a configuration whose `ipam` has no fault.
 */
export function routeFault({ config, version }: Request, addressing: AddressingConfig): string | undefined {
  const ips = addressesGiven(config, addressing);
  if (ips === undefined) return undefined;
  const own = ips.map(({ prefix }) => prefix);
  const inNetworks = [...own];
  const seen = new Set<string>();
  const isOld = ONE_ADDRESS_VERSIONS.includes(version);
  for (const route of routesOf(config).slice(0, MAX_ROUTES)) {
    const { destination } = route;
    // The first versions have room for a destination and a gateway, below an address of their family.
    if (isOld && !inNetworks.some((one) => isSameFamily(one, destination))) continue;
    const gateway = route.gateway ?? ips.find((ip) => ip.gateway && isSameFamily(ip.gateway, destination))?.gateway;
    const whole: Route = { ...route, ...(isOld ? PLAIN : {}), gateway };
    const key = keyOf(whole);
    const fault = faultOf(whole, inNetworks, own) ?? (seen.has(key) ? "is there twice: leave one out" : undefined);
    if (fault !== undefined) return `route ${JSON.stringify(destination.address)} ${fault}`;
    seen.add(key);
    const { scope } = whole;
    if (gateway === undefined && (!isIpv4(destination) || scope >= SCOPE_LINK)) inNetworks.push(destination);
  }
  return undefined;
}

/** The kernel refuses the second of two routes that have the same key. */
function keyOf({ destination, gateway, scope, table, priority, sizes }: Route): string {
  const to = gateway?.correctForm() ?? "";
  const ofFamily = isIpv4(destination) ? [priority, scope, sizes] : [priority || IPV6_PRIORITY];
  return [networkText(destination), to, table, ...ofFamily].join(" ");
}

function faultOf(
  { destination, gateway, scope, table }: Route,
  inNetworks: readonly IpAddress[],
  own: readonly IpAddress[],
): string | undefined {
  const ipv4 = isIpv4(destination);
  if (ipv4 && destination.bigInt() !== destination.startAddress().bigInt()) {
    return `is no network: write ${networkText(destination)}`;
  }
  if (ipv4 && scope === SCOPE_NOWHERE)
    return `has scope ${scope}, which says that there is no route: leave out "scope"`;
  if (gateway === undefined) return undefined;
  const to = gateway.correctForm();
  if (!isSameFamily(gateway, destination)) return `leads to gateway ${to} of another IP family: name one of its own`;
  const isOwn = inNetworks.some((one) => one.bigInt() === gateway.bigInt() && isSameFamily(one, gateway));
  if (ipv4 && (scope === SCOPE_HOST || (scope === SCOPE_LINK && !isOwn))) {
    return `has scope ${scope}, which a route to a gateway (${to}) can't have: leave out "scope"`;
  }
  const known = own.filter((one) => isSameFamily(one, gateway) && isAddress(one));
  const isPod = known.some((one) => one.bigInt() === gateway.bigInt());
  if (!ipv4 && isPod) return `leads to gateway ${to}, an address of the pod itself: name a router`;
  if (ipv4 && !isPod && table === TABLE_MAIN && known.some((one) => isBroadcast(gateway, one))) {
    return `leads to gateway ${to}, the broadcast address of its network: name a router`;
  }
  if (isLinkLocal(gateway) || inNetworks.some((one) => isWithin(gateway, one))) return undefined;
  return `leads to gateway ${to}, which is in none of the pod's networks: name one that is`;
}

/** Of a network, any address may be the pod's. */
function isAddress(prefix: IpAddress): boolean {
  return prefix.bigInt() !== prefix.startAddress().bigInt();
}

function isBroadcast(address: IpAddress, prefix: IpAddress): boolean {
  return hostBits(prefix) > 1 && address.bigInt() === prefix.endAddress().bigInt();
}

function routesOf(config: ConfigObject): Route[] {
  return config
    .object("ipam")
    .objects("routes")
    .flatMap((route) => {
      const destination = parsePrefix(route.string("dst") ?? "");
      if (destination === undefined) return [];
      return {
        destination,
        gateway: readAddress(route, "gw"),
        scope: numberAt(route, "scope") & 0xff,
        table: Math.max(0, numberAt(route, "table")) || TABLE_MAIN,
        priority: Math.max(0, numberAt(route, "priority")),
        sizes: `${numberAt(route, "mtu")} ${numberAt(route, "advmss")}`,
      };
    });
}

function numberAt(route: ConfigObject, key: string): number {
  const value = route.raw(key);
  return typeof value === "number" ? value : 0;
}
