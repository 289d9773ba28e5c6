/**
 * What is in requests. Numbers and names are those of the kernel's headers, written here once more: nothing of the codec is
 * used.
 */

export interface Nested {
  readonly name: string;
  readonly inside: Attributes;
  /** Bytes of an ifinfomsg before the attributes. */
  readonly header?: boolean;
}

export type Attribute = string | { readonly text: string } | Nested;
export type Attributes = Readonly<Record<number, Attribute>>;

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
export type Header = readonly (readonly [string, 1 | 2 | 4])[];
export const IFINFOMSG: Header = [
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

const TABLE: Attributes = { 1: { text: "NFTA_TABLE_NAME" }, 2: "NFTA_TABLE_FLAGS", 6: "NFTA_TABLE_USERDATA" };
const CHAIN: Attributes = {
  1: { text: "NFTA_CHAIN_TABLE" },
  3: { text: "NFTA_CHAIN_NAME" },
  4: { name: "NFTA_CHAIN_HOOK", inside: { 1: "NFTA_HOOK_HOOKNUM", 2: "NFTA_HOOK_PRIORITY" } },
  5: "NFTA_CHAIN_POLICY",
  7: { text: "NFTA_CHAIN_TYPE" },
  12: "NFTA_CHAIN_USERDATA",
};
/** What is inside of an expression's data is compared as it is. */
const EXPRESSION: Attributes = { 1: { text: "NFTA_EXPR_NAME" }, 2: "NFTA_EXPR_DATA" };
const RULE: Attributes = {
  1: { text: "NFTA_RULE_TABLE" },
  2: { text: "NFTA_RULE_CHAIN" },
  3: "NFTA_RULE_HANDLE",
  4: { name: "NFTA_RULE_EXPRESSIONS", inside: { 1: { name: "NFTA_LIST_ELEM", inside: EXPRESSION } } },
  7: "NFTA_RULE_USERDATA",
};
const NFGENMSG: Header = [
  ["family", 1],
  ["version", 1],
  ["res_id", 2],
];
/** Their types are those of RTM_NEWLINK and RTM_DELLINK, which are longer. */
const TRANSACTION_FRAME: Readonly<Record<number, string>> = { 16: "NFNL_MSG_BATCH_BEGIN", 17: "NFNL_MSG_BATCH_END" };
const FRAME_BYTES = 20;
const NFNL_SUBSYS_NFTABLES = 10;
const NFT_VERBS = ["NEW", "GET", "DEL"] as const;
const NFT_OBJECTS: readonly (readonly [string, Attributes])[] = [
  ["TABLE", TABLE],
  ["CHAIN", CHAIN],
  ["RULE", RULE],
];

const FAMILIES = ["LINK", "ADDR", "ROUTE"] as const;
const VERBS = ["NEW", "DEL", "GET", "SET"] as const;
const FIRST_TYPE = 16;
const RTM_GETVLAN = 114;

/** Its name, its header, and its attributes. */
export function describedType(message: Buffer): [string, Header, Attributes] {
  const type = message.readUInt16LE(4);
  const frame = message.length === FRAME_BYTES ? TRANSACTION_FRAME[type] : undefined;
  if (frame !== undefined) return [frame, NFGENMSG, {}];
  if (type >> 8 === NFNL_SUBSYS_NFTABLES) return describedNftType(type & 0xff);
  if (type === RTM_GETVLAN) return ["RTM_GETVLAN", BR_VLAN_MSG, {}];
  const family = FAMILIES[(type - FIRST_TYPE) >> 2];
  const name = `RTM_${VERBS[type & 3]}${family}`;
  if (family === "ADDR") return [name, IFADDRMSG, ADDRESS];
  if (family === "ROUTE") return [name, RTMSG, ROUTE];
  if (family === undefined) throw new Error(`messages of type ${type} are not described here`);
  return [name, IFINFOMSG, linkOfKind(VETH_KIND.test(message.toString("hex")) ? VETH_LINK : BRIDGE_LINK)];
}

/** Each object has three messages in a row. */
function describedNftType(type: number): [string, Header, Attributes] {
  const object = NFT_OBJECTS[Math.floor(type / NFT_VERBS.length)];
  if (object === undefined) throw new Error(`messages of nftables of type ${type} are not described here`);
  const [name, attributes] = object;
  return [`NFT_MSG_${NFT_VERBS[type % NFT_VERBS.length]}${name}`, NFGENMSG, attributes];
}
