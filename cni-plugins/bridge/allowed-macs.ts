/** `allowedMacs`: source addresses that the spoof check lets pass besides the interface's own. */

import { CniError, INVALID_CONFIG } from "../cni/cni-error.ts";
import type { ConfigObject } from "../cni/config-object.ts";
import { networkOf } from "../cni/ip-address.ts";
import { formatMacAddress, parseMacAddress, unicastFault } from "../cni/mac-address.ts";
import { MAC_BITS } from "../netlink/nft-expression.ts";

/** All addresses that begin with the first `length` bits, 1 to 48, of `mac`, which has no other bit set. */
export interface MacPrefix {
  readonly mac: Uint8Array;
  readonly length: number;
}

/** Each is a rule, and a frame may be compared with all of them. */
const ALLOWED_MACS_MOST = 64;
const SHOWN_CHARACTERS = 60;
const EXAMPLES = "write one such as 00:00:5e:00:01:0a, or a prefix such as 00:00:5e:00:01:00/40";

export function readAllowedMacs(config: ConfigObject): readonly MacPrefix[] {
  const entries = config.strings("allowedMacs") ?? [];
  if (entries.length > ALLOWED_MACS_MOST) {
    throw new CniError(
      INVALID_CONFIG,
      `"allowedMacs" has ${entries.length} entries, more than ${ALLOWED_MACS_MOST}: write prefixes such as 00:00:5e:00:01:00/40 in place of addresses`,
    );
  }
  return entries.map((entry, index) => {
    const read = readEntry(entry);
    if (typeof read !== "string") return read;
    throw new CniError(INVALID_CONFIG, `"allowedMacs[${index}]": "${entry.slice(0, SHOWN_CHARACTERS)}" ${read}`);
  });
}

export function formatMacPrefix({ mac, length }: MacPrefix): string {
  return length === MAC_BITS ? formatMacAddress(mac) : `${formatMacAddress(mac)}/${length}`;
}

/** Or what is wrong with it, and what to write. */
function readEntry(entry: string): MacPrefix | string {
  const [address = "", bits = `${MAC_BITS}`, ...more] = entry.split("/");
  const mac = parseMacAddress(address);
  if (mac === undefined || more.length > 0) return `is not a MAC address: ${EXAMPLES}`;
  const length = Number(bits);
  if (!Number.isInteger(length) || length < 1 || length > MAC_BITS || bits !== String(length)) {
    return `has no prefix length from 1 to ${MAC_BITS}: ${EXAMPLES}`;
  }
  const network = { mac: networkOf({ address: mac, length }), length };
  if (mac.some((octet, at) => octet !== network.mac[at])) {
    return `has bits beyond its prefix: write ${formatMacPrefix(network)}`;
  }
  const fault = unicastFault(mac);
  const startsWithZeroes = length < MAC_BITS && mac.every((octet) => octet === 0);
  return fault === undefined || startsWithZeroes ? network : `${fault}: ${EXAMPLES}`;
}
