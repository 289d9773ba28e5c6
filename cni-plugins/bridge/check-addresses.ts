/** CHECK of what an attachment with IPAM has: addresses, routes, masquerading. */

import { dumpAddresses, familyOf, readAddress } from "../netlink/address.ts";
import { getLink, linkOf } from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { dumpRoutes, readRoute } from "../netlink/route.ts";
import { AF_INET, AF_INET6 } from "../netlink/rtnetlink.ts";
import { type AddressResult, type RouteConfig, readAddressResult } from "../protocol/address-result.ts";
import { formatIpPrefix, type IpPrefix, networkOf, sameBytes, samePrefix } from "../protocol/ip-address.ts";
import type { Call } from "../protocol/plugin.ts";
import type { AddressingConfig } from "./config.ts";
import { conflicts } from "./gateway-steps.ts";
import { hasIptables, hasIptablesMasquerade } from "./masquerade-iptables.ts";
import { countNftMasquerade } from "./masquerade-nftables.ts";
import { openNetfilter } from "./netfilter.ts";

/** Why the container's interface is not as the ADD's result says; undefined when it is. */
export function addressFault(
  call: Call,
  container: NetlinkSocket,
  index: number,
  config: AddressingConfig,
): string | undefined {
  const { request } = call;
  const expected = readAddressResult(request.config.object("prevResult"), request.version);
  for (const { address } of expected.ips) {
    if (!hasAddress(container, index, address)) {
      return `interface ${request.ifname} lost its address ${formatIpPrefix(address)}`;
    }
  }
  const missing = missingRoute(container, expected);
  if (missing !== undefined) return `the route to ${formatIpPrefix(missing.destination)} is gone`;
  return config.masquerade ? masqueradeFault(call, config, expected) : undefined;
}

/** Why `name` is not the gateway that the ADD's result says; undefined when it is. */
export function gatewayFault({ request }: Call, node: NetlinkSocket, name: string): string | undefined {
  const link = linkOf(node.transact(getLink(node.batch(), name))[0]);
  if (link === undefined) return `the gateway's interface ${name} not found`;
  if (!link.up) return `the gateway's interface ${name} is down`;
  const { ips } = readAddressResult(request.config.object("prevResult"), request.version);
  const wanted = ips.flatMap(({ address, gateway }) =>
    gateway === undefined ? [] : [{ address: gateway, length: address.length }],
  );
  const lost = wanted.find((one, at) => !isReplaced(one, wanted.slice(at + 1)) && !hasAddress(node, link.index, one));
  return lost === undefined ? undefined : `${name} lost its gateway address ${formatIpPrefix(lost)}`;
}

/** With `forceAddress` a gateway takes the place of those before it. */
function isReplaced(one: IpPrefix, later: readonly IpPrefix[]): boolean {
  return later.some((other) => !samePrefix(one, other) && conflicts(one, other));
}

function hasAddress(socket: NetlinkSocket, index: number, wanted: IpPrefix): boolean {
  const [answer] = socket.run(dumpAddresses(socket.batch(), familyOf(wanted.address), index));
  const present = (answer?.messages ?? []).map(readAddress).filter((one) => one.index === index);
  return present.some((one) => samePrefix(one, wanted));
}

function missingRoute(container: NetlinkSocket, { routes }: AddressResult): RouteConfig | undefined {
  if (routes.length === 0) return undefined;
  const present = [AF_INET, AF_INET6].flatMap((family) => {
    const [answer] = container.run(dumpRoutes(container.batch(), family));
    return (answer?.messages ?? []).map((message) => ({ family, ...readRoute(message) }));
  });
  return routes.find(({ destination, gateway, table }) => {
    const network = networkOf(destination);
    return !present.some(
      (route) =>
        route.family === familyOf(network) &&
        route.length === destination.length &&
        (route.length === 0 || sameBytes(route.destination, network)) &&
        (gateway === undefined || (route.gateway !== undefined && sameBytes(route.gateway, gateway))) &&
        (table === undefined || route.table === table),
    );
  });
}

function masqueradeFault(
  { host, request }: Call,
  config: AddressingConfig,
  { ips }: AddressResult,
): string | undefined {
  const addresses = ips.map(({ address }) => address);
  const iptables = config.masqueradeBackend !== "nftables" && hasIptables(host);
  if (iptables && hasIptablesMasquerade(host, request, addresses)) return undefined;
  if (config.masqueradeBackend !== "iptables") {
    if (countNftMasquerade(host, openNetfilter(host), request) >= addresses.length) return undefined;
  }
  return "the rules that masquerade its addresses are gone";
}
