/**
 * A request as lines, one for each thing that it says, so that two can be compared that say the same in different bytes.
 * Numbers and names are those of the kernel's headers, written here once more: nothing of the codec is used.
 *
 * What two senders may write differently without effect, and what has no line therefore:
 * - the message's number and the socket's: each sender counts by itself;
 * - NLM_F_ACK: whether an answer without content is wanted;
 * - NLA_F_NESTED: the kernel takes attributes that contain others with and without it;
 * - the closing nul of a name: the kernel takes names with and without it. Not so an alias, where it counts as a byte;
 * - fields of a header that are 0, which is what they are when nobody sets them;
 * - the order of attributes, except of those that are there several times: lines are sorted, and those numbered.
 */

interface Nested {
  readonly name: string;
  readonly inside: Attributes;
  /** Bytes of an ifinfomsg before the attributes. */
  readonly header?: boolean;
}

type Attribute = string | { readonly text: string } | Nested;
type Attributes = Readonly<Record<number, Attribute>>;

const BRIDGE_PORT: Attributes = { 1: "IFLA_BRPORT_STATE", 4: "IFLA_BRPORT_MODE", 33: "IFLA_BRPORT_ISOLATED" };
const BRIDGE_LINK: Attributes = { 7: "IFLA_BR_VLAN_FILTERING" };
const BRIDGE_VLANS: Attributes = { 0: "IFLA_BRIDGE_FLAGS", 2: "IFLA_BRIDGE_VLAN_INFO" };

const PLAIN_LINK: Attributes = {
  1: "IFLA_ADDRESS",
  3: { text: "IFLA_IFNAME" },
  4: "IFLA_MTU",
  10: "IFLA_MASTER",
  12: { name: "IFLA_PROTINFO", inside: BRIDGE_PORT },
  13: "IFLA_TXQLEN",
  20: "IFLA_IFALIAS",
  26: { name: "IFLA_AF_SPEC", inside: BRIDGE_VLANS },
  27: "IFLA_GROUP",
  28: "IFLA_NET_NS_FD",
  29: "IFLA_EXT_MASK",
};
const VETH_LINK: Attributes = { 1: { name: "VETH_INFO_PEER", inside: PLAIN_LINK, header: true } };

/** IFLA_INFO_KIND "veth", with or without a closing nul. */
const VETH_KIND = /0[89]00010076657468/;

/** What IFLA_INFO_DATA means depends on the kind beside it. */
const linkOfKind = (data: Attributes): Attributes => ({
  ...PLAIN_LINK,
  18: { name: "IFLA_LINKINFO", inside: { 1: { text: "IFLA_INFO_KIND" }, 2: { name: "IFLA_INFO_DATA", inside: data } } },
});

const ADDRESS: Attributes = { 1: "IFA_ADDRESS", 2: "IFA_LOCAL", 4: "IFA_BROADCAST" };
const METRICS: Attributes = { 2: "RTAX_MTU", 8: "RTAX_ADVMSS" };
const ROUTE: Attributes = {
  1: "RTA_DST",
  4: "RTA_OIF",
  5: "RTA_GATEWAY",
  6: "RTA_PRIORITY",
  8: { name: "RTA_METRICS", inside: METRICS },
  15: "RTA_TABLE",
};

/** Name and length in bytes; without a name, padding. */
type Header = readonly (readonly [string, 1 | 2 | 4])[];
const IFINFOMSG: Header = [
  ["family", 1],
  ["", 1],
  ["ifi_type", 2],
  ["index", 4],
  ["ifi_flags", 4],
  ["ifi_change", 4],
];
const IFADDRMSG: Header = [
  ["family", 1],
  ["prefixlen", 1],
  ["ifa_flags", 1],
  ["ifa_scope", 1],
  ["index", 4],
];
const RTMSG: Header = [
  ...([
    ["family", 1],
    ["dst_len", 1],
    ["src_len", 1],
    ["tos", 1],
  ] as const),
  ...([
    ["table", 1],
    ["protocol", 1],
    ["scope", 1],
    ["rtm_type", 1],
    ["rtm_flags", 4],
  ] as const),
];
const BR_VLAN_MSG: Header = [
  ["family", 1],
  ["", 1],
  ["", 2],
  ["index", 4],
];

const FAMILIES = ["LINK", "ADDR", "ROUTE"] as const;
const VERBS = ["NEW", "DEL", "GET", "SET"] as const;
const FIRST_TYPE = 16;
const RTM_GETVLAN = 114;
const NLM_F_REQUEST = 1;
const NLM_F_ACK = 4;

export function requestLines(hex: string): string[] {
  const message = Buffer.from(hex, "hex");
  if (message.readUInt32LE(0) !== message.length) throw new Error(`${hex} has not the length that it says`);
  const [name, header, attributes] = describedType(message);
  const flags = message.readUInt16LE(6);
  if ((flags & NLM_F_REQUEST) === 0) throw new Error(`${hex} is no request`);
  const lines = [name];
  const others = flags & ~(NLM_F_REQUEST | NLM_F_ACK);
  if (others !== 0) lines.push(`nlmsg_flags=0x${others.toString(16)}`);
  lines.push(...headerLines(message.subarray(16), header, ""));
  lines.push(...attributeLines(message.subarray(16 + lengthOf(header)), attributes, ""));
  return lines.sort();
}

function describedType(message: Buffer): [string, Header, Attributes] {
  const type = message.readUInt16LE(4);
  if (type === RTM_GETVLAN) return ["RTM_GETVLAN", BR_VLAN_MSG, {}];
  const family = FAMILIES[(type - FIRST_TYPE) >> 2];
  const name = `RTM_${VERBS[type & 3]}${family}`;
  if (family === "ADDR") return [name, IFADDRMSG, ADDRESS];
  if (family === "ROUTE") return [name, RTMSG, ROUTE];
  if (family === undefined) throw new Error(`messages of type ${type} are not described here`);
  return [name, IFINFOMSG, linkOfKind(VETH_KIND.test(message.toString("hex")) ? VETH_LINK : BRIDGE_LINK)];
}

const lengthOf = (header: Header): number => header.reduce((sum, [, length]) => sum + length, 0);

function headerLines(bytes: Buffer, header: Header, path: string): string[] {
  let at = 0;
  return header.flatMap(([name, length]) => {
    const value = bytes.readUIntLE(at, length);
    at += length;
    if (value === 0) return [];
    return [`${path}${name === "" ? "padding" : name}=${name.startsWith("ifi_") ? `0x${value.toString(16)}` : value}`];
  });
}

function attributeLines(bytes: Buffer, attributes: Attributes, path: string): string[] {
  const seen = new Map<number, number>();
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    const type = bytes.readUInt16LE(at + 2) & 0x3fff;
    if (length < 4 || at + length > bytes.length) throw new Error(`an attribute of ${path} has length ${length}`);
    const nth = (seen.get(type) ?? 0) + 1;
    seen.set(type, nth);
    const name = path + (nth > 1 ? `#${nth} ` : "");
    lines.push(...linesOf(bytes.subarray(at + 4, at + length), attributes[type] ?? `attribute ${type}`, name));
    at += (length + 3) & ~3;
  }
  return lines;
}

function linesOf(value: Buffer, attribute: Attribute, path: string): string[] {
  if (typeof attribute === "string") return [`${path}${attribute}=${value.toString("hex")}`];
  if ("text" in attribute) return [`${path}${attribute.text}="${value.toString().replace(/\0$/, "")}"`];
  const inner = `${path}${attribute.name}/`;
  const start = attribute.header === true ? lengthOf(IFINFOMSG) : 0;
  const before = start > 0 ? headerLines(value, IFINFOMSG, inner) : [];
  if (value.length === start) return [`${inner} is empty`, ...before];
  return [...before, ...attributeLines(value.subarray(start), attribute.inside, inner)];
}
