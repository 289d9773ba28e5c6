/**
 * A MAC address is a 48-bit number, which a JavaScript number holds exactly. It is parsed and printed here only.
 */

declare const macBrand: unique symbol;

export type Mac = number & { readonly [macBrand]: true };

const OCTETS = 6;

/** ff:ff:ff:ff:ff:ff */
export const MAX_MAC = (2 ** (OCTETS * 8) - 1) as Mac;

/** KubeVirt gives it to the bridge in the pod of a VM (its masquerade binding), and refuses it for such an interface. */
export const POD_BRIDGE_MAC = 0x02_00_00_00_00_00 as Mac;

/** Distance between separators, in digits, by separator. */
const GROUPS: Readonly<Record<string, number>> = { ":": 2, "-": 2, ".": 4 };
const DIGITS = OCTETS * 2;

/**
 * Reads `02:aa:bb:cc:dd:ee`, `02-aa-bb-cc-dd-ee`, `02aa.bbcc.ddee` and `02aabbccddee` in any case. Exactly six octets:
 * EUI-64 and anything else is undefined. Multicast and all-zero addresses parse; whether they are allowed is for the caller.
 */
export function parseMac(text: string): Mac | undefined {
  if (text.length < DIGITS || text.length > DIGITS + OCTETS - 1) return undefined;
  const group = GROUPS[text.charAt(2)] ?? GROUPS[text.charAt(4)] ?? DIGITS;
  const separator = group === DIGITS ? "" : text.charAt(group);
  if (text.length !== DIGITS + DIGITS / group - 1) return undefined;
  let mac = 0;
  for (let at = 0; at < text.length; at++) {
    if (at % (group + 1) === group) {
      if (text.charAt(at) !== separator) return undefined;
      continue;
    }
    const digit = hexDigit(text.charCodeAt(at));
    if (digit < 0) return undefined;
    mac = mac * 16 + digit;
  }
  return mac as Mac;
}

/** Value of a hexadecimal digit by its character code, -1 for anything else. */
function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** The number as a Mac, or undefined when it is not an integer of 48 bits. */
export function macFromNumber(value: number): Mac | undefined {
  return Number.isInteger(value) && value >= 0 && value <= MAX_MAC ? (value as Mac) : undefined;
}

/** The one canonical form: lower case, colons. */
export function formatMac(mac: Mac): string {
  return joinOctets(mac, ":");
}

/** The text of an address as it is written, or with colons where it has no separators: virt-api and multus refuse that. */
export function withSeparators(text: string): string {
  const mac = text.length === DIGITS ? parseMac(text) : undefined;
  return mac === undefined ? text : formatMac(mac);
}

/** First octet, the one that carries the multicast bit. */
export function firstOctet(mac: Mac): number {
  return Math.floor(mac / 2 ** 40);
}

/** Multicast includes broadcast: lowest bit of the first octet. */
export function isMulticast(mac: Mac): boolean {
  return firstOctet(mac) % 2 === 1;
}

export type UnusableMac = "the broadcast" | "a multicast" | "the all-zero";

/** What kind of address it is, where no interface can have it. */
export function unusableAs(mac: Mac): UnusableMac | undefined {
  if (mac === MAX_MAC) return "the broadcast";
  if (isMulticast(mac)) return "a multicast";
  return mac === 0 ? "the all-zero" : undefined;
}

/** The same in words. */
export function describeUnusable(mac: Mac): string | undefined {
  const what = unusableAs(mac);
  return what && `${formatMac(mac)} is ${what} address, which no interface can have`;
}

const CLAIM_PREFIX = "mac-";

/** Name of the MACClaim of this address, for example `mac-02-5d-1c-00-00-a3`. */
export function claimName(mac: Mac): string {
  return CLAIM_PREFIX + joinOctets(mac, "-");
}

/** Inverse of claimName: exact spelling only, since one address must have one name. */
export function macOfClaimName(name: string): Mac | undefined {
  if (!name.startsWith(CLAIM_PREFIX)) return undefined;
  const mac = parseMac(name.slice(CLAIM_PREFIX.length));
  return mac !== undefined && claimName(mac) === name ? mac : undefined;
}

const DIGIT_CODES = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** In one piece: put together octet by octet, each address leaves ten texts behind. */
function joinOctets(mac: Mac, separator: ":" | "-"): string {
  const [h, l] = [Math.floor(mac / 2 ** 24), mac % 2 ** 24];
  const s = separator.charCodeAt(0);
  // biome-ignore format: one row is half an address
  return String.fromCharCode(
    digit(h, 20), digit(h, 16), s, digit(h, 12), digit(h, 8), s, digit(h, 4), digit(h, 0), s,
    digit(l, 20), digit(l, 16), s, digit(l, 12), digit(l, 8), s, digit(l, 4), digit(l, 0),
  );
}

/** Character code of the hexadecimal digit at a bit. */
function digit(half: number, bit: number): number {
  return DIGIT_CODES[(half >>> bit) & 0xf] ?? 0;
}
