/** The answer to ADD, in the form of the request's CNI version. */

import { CniError, INCOMPATIBLE_VERSION } from "./cni-error.ts";
import type { ConfigObject, JsonObject } from "./config-object.ts";
import { atLeast, type CniVersion } from "./version.ts";

export interface ResultInterface {
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
  /** Path of the network namespace; absent for an interface of the node. */
  readonly sandbox?: string;
}

export interface Dns {
  readonly nameservers?: readonly string[];
  readonly domain?: string;
  readonly search?: readonly string[];
  readonly options?: readonly string[];
}

export interface Result {
  readonly interfaces: readonly ResultInterface[];
  /** The keys for addresses and routes; absent when there are none. */
  readonly addresses?: (version: CniVersion) => JsonObject;
  readonly dns: Dns;
}

/** Versions before 0.3.0 know addresses only. Throws before anything was made for one. */
export function requireInterfacesInResult(version: CniVersion): void {
  if (atLeast(version, "0.3.0")) return;
  throw new CniError(
    INCOMPATIBLE_VERSION,
    `cniVersion ${version} has no way to report a network without addresses: set cniVersion to 0.3.1 or later`,
  );
}

export function encodeResult(version: CniVersion, result: Result): string {
  const addresses = result.addresses?.(version) ?? {};
  if (!atLeast(version, "0.3.0")) return JSON.stringify({ cniVersion: version, ...addresses, dns: result.dns });
  const withMtu = atLeast(version, "1.1.0");
  const interfaces = result.interfaces.map(({ name, mac, mtu, sandbox }) => ({
    name,
    mac,
    ...(withMtu ? { mtu } : {}),
    ...(sandbox === undefined ? {} : { sandbox }),
  }));
  const showDns = !atLeast(version, "1.0.0") || Object.keys(result.dns).length > 0;
  return JSON.stringify({ cniVersion: version, interfaces, ...addresses, ...(showDns ? { dns: result.dns } : {}) });
}

/** The configuration's `dns`, which the runtime wants back. */
export function readDns(config: ConfigObject): Dns {
  const dns = config.object("dns");
  const nameservers = dns.strings("nameservers");
  const domain = dns.string("domain");
  const search = dns.strings("search");
  const options = dns.strings("options");
  return {
    ...(nameservers?.length ? { nameservers } : {}),
    ...(domain ? { domain } : {}),
    ...(search?.length ? { search } : {}),
    ...(options?.length ? { options } : {}),
  };
}
