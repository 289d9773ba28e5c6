/** CHECK of an attachment with IPAM: addresses, routes, gateway, masquerading. */

import { type AddressResult, type RouteConfig, readAddressResult } from "../cni/address-result.ts";
import { formatIpPrefix, type IpPrefix, networkOf, sameBytes, samePrefix } from "../cni/ip-address.ts";
import { formatMacAddress, parseMacAddress } from "../cni/mac-address.ts";
import type { Call } from "../cni/plugin.ts";
import { dumpAddresses, familyOf, readAddress } from "../netlink/address.ts";
import { findLink } from "../netlink/link.ts";
import type { NetlinkSocket } from "../netlink/netlink-socket.ts";
import { dumpRoutes, type RouteView, readRoute } from "../netlink/route.ts";
import { AF_INET, AF_INET6, AF_UNSPEC, RT_TABLE_MAIN } from "../netlink/rtnetlink.ts";
import type { AddressingConfig } from "./config.ts";
import { conflicts } from "./gateway.ts";
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
  const addresses = expected.ips.map(({ address }) => formatIpPrefix(address));
  const present = addressesOf(container, index);
  const lost = addresses.find((one) => !present.has(one));
  if (lost !== undefined) return `interface ${request.ifname} lost its address ${lost}`;
  const missing = missingRoute(container, expected);
  if (missing !== undefined) return `the route to ${formatIpPrefix(missing.destination)} is gone`;
  return config.masquerade ? masqueradeFault(call, config, expected) : undefined;
}

/** Why `name` is not the gateway that the ADD's result says; undefined when it is. */
export function gatewayFault({ request }: Call, node: NetlinkSocket, name: string): string | undefined {
  const link = findLink(node, name);
  if (link === undefined) return `the gateway's interface ${name} not found`;
  if (!link.up) return `the gateway's interface ${name} is down`;
  const interfaces = request.config.object("prevResult").objects("interfaces");
  const atAdd = interfaces.find((one) => one.string("name") === name && !one.string("sandbox"));
  const mac = parseMacAddress(atAdd?.string("mac") ?? "");
  if (mac !== undefined && formatMacAddress(mac) !== link.mac) {
    return `the gateway's interface ${name} has MAC ${link.mac}, not ${formatMacAddress(mac)}`;
  }
  const { ips } = readAddressResult(request.config.object("prevResult"), request.version);
  const wanted = ips.flatMap(({ address, gateway }) =>
    gateway === undefined ? [] : [{ address: gateway, length: address.length }],
  );
  const present = addressesOf(node, link.index);
  const isLost = (one: IpPrefix) => !present.has(formatIpPrefix(one));
  const lost = wanted.find((one, at) => isLost(one) && !isReplaced(one, wanted.slice(at + 1)));
  return lost === undefined ? undefined : `${name} lost its gateway address ${formatIpPrefix(lost)}`;
}

/** With `forceAddress` a gateway takes the place of those before it. */
function isReplaced(one: IpPrefix, later: readonly IpPrefix[]): boolean {
  return later.some((other) => !samePrefix(one, other) && conflicts(one, other));
}

/** The interface's addresses, as a result has them. */
function addressesOf(socket: NetlinkSocket, index: number): ReadonlySet<string> {
  const [answer] = socket.run(dumpAddresses(socket.batch(), AF_UNSPEC, index));
  const all = (answer?.messages ?? []).map(readAddress);
  return new Set(all.filter((one) => one.index === index).map(formatIpPrefix));
}

function missingRoute(container: NetlinkSocket, { routes }: AddressResult): RouteConfig | undefined {
  if (routes.length === 0) return undefined;
  const present = new Map<string, RouteView[]>();
  for (const family of [AF_INET, AF_INET6]) {
    const [answer] = container.run(dumpRoutes(container.batch(), family));
    for (const message of answer?.messages ?? []) {
      const route = readRoute(message);
      const to = routeKey(family, route.destination, route.length);
      present.set(to, [...(present.get(to) ?? []), route]);
    }
  }
  return routes.find(({ destination, gateway, table }) => {
    const network = networkOf(destination);
    const found = present.get(routeKey(familyOf(network), network, destination.length)) ?? [];
    return !found.some(
      (route) =>
        (gateway === undefined || route.gateways.some((one) => sameBytes(one, gateway))) &&
        // To the kernel, a table of 0 or less is the main one.
        (table === undefined || route.table === (table > 0 ? table : RT_TABLE_MAIN)),
    );
  });
}

/** A default route's destination is empty, or all zeroes. */
function routeKey(family: number, destination: Uint8Array, length: number): string {
  return `${family} ${length === 0 ? "" : destination.join()}/${length}`;
}

function masqueradeFault(
  { syscalls, request }: Call,
  config: AddressingConfig,
  { ips }: AddressResult,
): string | undefined {
  const addresses = ips.map(({ address }) => address);
  const iptables = config.masqueradeBackend !== "nftables" && hasIptables(syscalls);
  if (iptables && hasIptablesMasquerade(syscalls, request, addresses)) return undefined;
  if (config.masqueradeBackend !== "iptables") {
    if (countNftMasquerade(syscalls, openNetfilter(syscalls), request) >= addresses.length) return undefined;
  }
  return "the rules that masquerade its addresses are gone";
}
