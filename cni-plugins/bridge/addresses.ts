/** The IPAM plugin's addresses, completed with the gateways and default routes that the configuration asks for. */

import type { AddressConfig, AddressResult, RouteConfig } from "../cni/address-result.ts";
import { CniError, DELEGATE_FAILED } from "../cni/cni-error.ts";
import { firstHostOf, type IpPrefix, isIpv4 } from "../cni/ip-address.ts";
import type { Dns } from "../cni/result.ts";
import type { AddressingConfig } from "./config.ts";

export interface Addresses {
  readonly ips: readonly AddressConfig[];
  readonly routes: readonly RouteConfig[];
  readonly dns: Dns;
  /** The gateways' addresses with their networks' prefix lengths: IPv4 before IPv6. */
  readonly gateways: readonly IpPrefix[];
}

/** Index of the container's interface in the result. */
const CONTAINER_INTERFACE = 2;

export function completeAddresses(given: AddressResult, config: AddressingConfig): Addresses {
  if (given.ips.length === 0) {
    throw new CniError(
      DELEGATE_FAILED,
      `IPAM plugin "${config.ipam}" returned missing IP config: it must give at least one address`,
    );
  }
  const ips = given.ips.map(({ address, gateway }): AddressConfig => {
    const chosen = gateway ?? (config.gateway ? firstHostOf(address) : undefined);
    return { address, gateway: chosen, interface: CONTAINER_INTERFACE };
  });
  const routes = [...given.routes];
  for (const ipv4 of config.defaultGateway ? [true, false] : []) {
    const first = ips.find(({ address }) => isIpv4(address.address) === ipv4);
    if (first !== undefined && !routes.some((route) => isDefaultVia(route, ipv4))) {
      routes.push(defaultRoute(first));
    }
  }
  const gateways = ips.flatMap(({ address: { length }, gateway }) =>
    config.gateway && gateway !== undefined ? [{ address: gateway, length }] : [],
  );
  const ordered = [true, false].flatMap((ipv4) => gateways.filter(({ address }) => isIpv4(address) === ipv4));
  return { ips, routes, dns: given.dns, gateways: ordered };
}

/** A default route without a gateway does not count: another one is added. */
function isDefaultVia({ destination: { address, length }, gateway }: RouteConfig, ipv4: boolean): boolean {
  return length === 0 && isIpv4(address) === ipv4 && gateway !== undefined;
}

function defaultRoute({ address: { address }, gateway }: AddressConfig): RouteConfig {
  const destination = { address: new Uint8Array(address.length), length: 0 };
  return { destination, gateway, mtu: 0, advmss: 0, priority: 0, table: undefined, scope: undefined };
}

/** The gateway of a route that names none: the first one of its family. */
export function gatewayFor(
  { destination, gateway }: RouteConfig,
  ips: readonly AddressConfig[],
): Uint8Array | undefined {
  const family = isIpv4(destination.address);
  return gateway ?? ips.find((ip) => ip.gateway !== undefined && isIpv4(ip.gateway) === family)?.gateway;
}
