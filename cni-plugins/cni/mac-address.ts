/** MAC addresses as the plugins take and give them. */

import type { Syscalls } from "../native/syscalls.ts";
import { CniError } from "./cni-error.ts";

const MAC_BYTES = 6;
/** Digits between separators. */
const GROUPS: readonly (readonly [separator: string, digits: number])[] = [
  [":", 2],
  ["-", 2],
  [".", 4],
];

/** Six octets, in any of `02:00:..`, `02-00-..`, `0200.0000.0001`, `020000000001`; undefined when it is none. */
export function parseMacAddress(text: string): Uint8Array | undefined {
  const [separator, digits] = GROUPS.find(([mark]) => text.includes(mark)) ?? ["none", MAC_BYTES * 2];
  const groups = text.split(separator);
  if (groups.length * digits !== MAC_BYTES * 2) return undefined;
  const bytes = new Uint8Array(MAC_BYTES);
  let at = 0;
  for (const group of groups) {
    if (group.length !== digits) return undefined;
    for (let i = 0; i < digits; i += 2) {
      const octet = parseOctet(group.slice(i, i + 2));
      if (octet === undefined) return undefined;
      bytes[at++] = octet;
    }
  }
  return bytes;
}

/** Throws with the code for an address that no interface can have. `where`: what has it, as the administrator names it. */
export function requireMac(text: string, where: string, code: number): Uint8Array {
  const mac = parseMacAddress(text);
  const fault = mac === undefined ? "is not a MAC address" : unicastFault(mac);
  if (mac !== undefined && fault === undefined) return mac;
  throw new CniError(code, `${where}: "${text}" ${fault}: write six octets such as 02:00:00:00:00:01`);
}

/** Locally administered, unicast. */
export function randomMacAddress(syscalls: Pick<Syscalls, "random">): Uint8Array {
  const mac = new Uint8Array(MAC_BYTES);
  syscalls.random(mac);
  mac[0] = ((mac[0] ?? 0) & 0xfc) | 0x02;
  return mac;
}

/** The first octet that libvirt gives the node's end of a VM's interface too. */
const PORT_OCTET = 0xfe;

/** For a port: a bridge without an address of its own takes the lowest one of its ports, and no device's is higher. */
export function randomPortMacAddress(syscalls: Pick<Syscalls, "random">): Uint8Array {
  const mac = randomMacAddress(syscalls);
  mac[0] = PORT_OCTET;
  return mac;
}

/** In the kernel's spelling. */
export function isPortMacAddress(mac: string): boolean {
  return mac.startsWith(PORT_OCTET.toString(16));
}

/** Lower case with colons. */
export function formatMacAddress(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(":");
}

/** Why no interface can have the address; undefined when one can. */
export function unicastFault(bytes: Uint8Array): string | undefined {
  if (((bytes[0] ?? 0) & 1) === 1) return "is a multicast address";
  return bytes.every((byte) => byte === 0) ? "is all zeroes" : undefined;
}

function parseOctet(text: string): number | undefined {
  const octet = Number.parseInt(text, 16);
  return octet >= 0 && octet.toString(16).padStart(2, "0") === text.toLowerCase() ? octet : undefined;
}
