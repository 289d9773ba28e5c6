/**
 * A MAC address is a 48-bit number, which a JavaScript number holds exactly. It is parsed and printed here only.
 */

declare const macBrand: unique symbol;

export type Mac = number & { readonly [macBrand]: true };

const OCTETS = 6;

/** ff:ff:ff:ff:ff:ff */
export const MAX_MAC = (2 ** (OCTETS * 8) - 1) as Mac;

const NOTATIONS = [
  /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i,
  /^[0-9a-f]{2}(?:-[0-9a-f]{2}){5}$/i,
  /^[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}$/i,
  /^[0-9a-f]{12}$/i,
];

/**
 * Reads `02:aa:bb:cc:dd:ee`, `02-aa-bb-cc-dd-ee`, `02aa.bbcc.ddee` and `02aabbccddee` in any case. Exactly six octets:
 * EUI-64 and anything else is undefined. Multicast and all-zero addresses parse; whether they are allowed is for the caller.
 */
export function parseMac(text: string): Mac | undefined {
  if (!NOTATIONS.some((notation) => notation.test(text))) return undefined;
  return Number.parseInt(text.replace(/[:.-]/g, ""), 16) as Mac;
}

/** The number as a Mac, or undefined when it is not an integer of 48 bits. */
export function macFromNumber(value: number): Mac | undefined {
  return Number.isInteger(value) && value >= 0 && value <= MAX_MAC ? (value as Mac) : undefined;
}

/** The one canonical form: lower case, colons. */
export function formatMac(mac: Mac): string {
  return octets(mac).join(":");
}

/** First octet, the one that carries the multicast bit. */
export function firstOctet(mac: Mac): number {
  return Math.floor(mac / 2 ** 40);
}

/** Multicast includes broadcast: lowest bit of the first octet. */
export function isMulticast(mac: Mac): boolean {
  return firstOctet(mac) % 2 === 1;
}

const CLAIM_PREFIX = "mac-";

/** Name of the MACClaim of this address, for example `mac-02-5d-1c-00-00-a3`. */
export function claimName(mac: Mac): string {
  return CLAIM_PREFIX + octets(mac).join("-");
}

/** Inverse of claimName: exact spelling only, since one address must have one name. */
export function macOfClaimName(name: string): Mac | undefined {
  if (!name.startsWith(CLAIM_PREFIX)) return undefined;
  const mac = parseMac(name.slice(CLAIM_PREFIX.length));
  return mac !== undefined && claimName(mac) === name ? mac : undefined;
}

function octets(mac: Mac): string[] {
  const hex = mac.toString(16).padStart(OCTETS * 2, "0");
  return Array.from({ length: OCTETS }, (_, index) => hex.slice(index * 2, index * 2 + 2));
}
