import type { AddressingConfig } from "../../cni-plugins/bridge/config.ts";
import type { ConfigObject } from "../../cni-plugins/protocol/config-object.ts";
import type { Request } from "../../cni-plugins/protocol/request.ts";
import { addressesGiven } from "./given-addresses.ts";
import { type IpAddress, isIpv4, isLinkLocal, isSameFamily, isWithin, networkText, parsePrefix } from "./ip-text.ts";
import { ONE_ADDRESS_VERSIONS, readAddress } from "./ipam-checks.ts";

/** What the kernel refuses of routes that IPAM plugins pass on. */

/** From rtnetlink: 253 is for neighbours, 254 for addresses of one's own, 255 says that there is no route. */
const [SCOPE_LINK, SCOPE_HOST, SCOPE_NOWHERE] = [253, 254, 255];

/** Each is compared with each address; nobody has as many. */
const MAX_ROUTES = 500;

interface Route {
  readonly destination: IpAddress;
  readonly gateway: IpAddress | undefined;
  readonly scope: number;
}

/**
 * The first route that the kernel refuses, and why; undefined for none, and where the pod or one of several ranges decides. Of
 * a configuration whose `ipam` has no fault.
 */
export function routeFault({ config, version }: Request, addressing: AddressingConfig): string | undefined {
  const ips = addressesGiven(config, addressing);
  if (ips === undefined) return undefined;
  const inNetworks: IpAddress[] = ips.map(({ prefix }) => prefix);
  const isOld = ONE_ADDRESS_VERSIONS.includes(version);
  for (const route of routesOf(config).slice(0, MAX_ROUTES)) {
    const { destination } = route;
    // The first versions have room for a destination and a gateway, below an address of their family.
    if (isOld && !inNetworks.some((one) => isSameFamily(one, destination))) continue;
    const scope = isOld ? 0 : route.scope & 0xff;
    const gateway = route.gateway ?? ips.find((ip) => ip.gateway && isSameFamily(ip.gateway, destination))?.gateway;
    const fault = faultOf({ destination, gateway, scope }, inNetworks);
    if (fault !== undefined) return `route ${JSON.stringify(destination.address)} ${fault}`;
    if (gateway === undefined && (!isIpv4(destination) || scope >= SCOPE_LINK)) inNetworks.push(destination);
  }
  return undefined;
}

function faultOf({ destination, gateway, scope }: Route, inNetworks: readonly IpAddress[]): string | undefined {
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
  if (isLinkLocal(gateway) || inNetworks.some((one) => isWithin(gateway, one))) return undefined;
  return `leads to gateway ${to}, which is in none of the pod's networks: name one that is`;
}

function routesOf(config: ConfigObject): Route[] {
  return config
    .object("ipam")
    .objects("routes")
    .flatMap((route) => {
      const destination = parsePrefix(route.string("dst") ?? "");
      const scope = route.raw("scope");
      if (destination === undefined) return [];
      return { destination, gateway: readAddress(route, "gw"), scope: typeof scope === "number" ? scope : 0 };
    });
}
