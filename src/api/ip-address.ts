/** What an IP address looks like, for rules of CRDs and the operator. */

const OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
const IPV4 = `(${OCTET}[.]){3}${OCTET}`;
const GROUP = "[0-9A-Fa-f]{1,4}";
const GROUPS = `(${GROUP}:)`;
/** 32 bits at the end: two groups, or an IPv4 address. */
const LAST = `(${GROUP}:${GROUP}|${IPV4})`;

/** Up to `count` groups that stand before `::`. */
const before = (count: number): string => (count === 0 ? "" : `(${GROUPS}{0,${count - 1}}${GROUP})?`);

/** RFC 3986, IPv6address: what stands before and after `::`. */
const IPV6 = [
  `${GROUPS}{6}${LAST}`,
  ...[5, 4, 3, 2, 1, 0].map((after) => `${before(5 - after)}::${GROUPS}{${after}}${LAST}`),
  `${before(6)}::${GROUP}`,
  `${before(7)}::`,
];

/** One address without a prefix or a zone. RE2 and JavaScript read it in the same way. */
export const IP_ADDRESS_PATTERN = `^(${[IPV4, ...IPV6].join("|")})$`;

/**
 * What is no address of a server that others reach: unspecified, loopback, link-local without a zone, multicast, reserved. Of a text
 * that is an address.
 */
export const UNREACHABLE_ADDRESS_PATTERN =
  "^([0:]+:[Ff]{4}:)?(0|127|22[4-9]|2[3-5][0-9])[.]|^[0:.]*:[0:.]*[01]?$|^[Ff]([Ee][89ABab]|[Ff][0-9A-Fa-f])[0-9A-Fa-f]:[0-9A-Fa-f:.]*$";
