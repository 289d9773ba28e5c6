/** What a long run must have come by, so that "no difference" means something. */

import type { DifferentialCase, Kind } from "./case-generator.ts";
import type { Report } from "./differential.ts";

/** Shorter runs are a look at something. */
export const COVERING_CASES = 3_000;
const LEAST_OF_EACH_KEY = 30;

/** Of the cases, when nothing else is said. */
const SHARES = { vlan: 0.1, tuning: 0.1 };

export function shares(cases: number): Readonly<Record<Kind, number>> {
  const [vlan, tuning] = [Math.round(cases * SHARES.vlan), Math.round(cases * SHARES.tuning)];
  return { plain: cases - vlan - tuning, vlan, tuning };
}

const BRIDGE_KEYS = [
  ...["cniVersion", "name", "type", "bridge", "isGateway", "isDefaultGateway", "forceAddress", "ipMasq"],
  ...["ipMasqBackend", "mtu", "hairpinMode", "promiscMode", "vlan", "vlanTrunk", "preserveDefaultVlan"],
  ...["enableVlanFiltering", "requireVlanFiltering", "macspoofchk", "enabledad", "disableContainerInterface"],
  ...["allowedMacs", "acceptRa", "portIsolation", "quiet", "ipam", "dns", "runtimeConfig", "args", "prevResult"],
];
const TUNING_KEYS = ["mac", "mtu", "promisc", "allmulti", "txQLen", "sysctl", "dataDir"];

const TOP_KEYS = [...BRIDGE_KEYS, ...TUNING_KEYS];

const under = (path: string, keys: readonly string[]): string[] => keys.map((key) => `${path}.${key}`);

const SYSCTLS = [
  ...["net.ipv4.conf.IFNAME.arp_notify", "net/ipv6/conf/IFNAME/accept_ra", "net.ipv4.ip_forward"],
  "net.ipv6.conf.eth0.accept_dad",
];

/** Each is to occur in a long run, with a value that it can have. */
export const EXPECTED_KEYS: readonly string[] = [
  ...new Set([
    ...TOP_KEYS,
    ...under("vlanTrunk[]", ["id", "minID", "maxID", "idd"]),
    ...under("dns", ["nameservers", "domain", "search", "options"]),
    ...under("runtimeConfig", ["mac"]),
    ...under("args", ["cni", "cni.mac", "cni.mtu", "cni.promisc", "cni.allmulti", "cni.txQLen", "cni.sysctl"]),
    ...under("args.cni.sysctl", SYSCTLS),
    ...under("sysctl", SYSCTLS),
    ...under("ipam", ["type", "dataDir", "ranges", "ranges[][].subnet", "ranges[][].gateway", "addresses"]),
    ...under("ipam", ["addresses[].address", "addresses[].gateway", "dns", "dns.nameservers", "dns.domain", "routes"]),
    ...under("ipam.routes[]", ["dst", "gw", "priority", "table", "scope"]),
    ...under("prevResult", ["cniVersion", "interfaces", "ips", "dns"]),
    ...under("prevResult.interfaces[]", ["name", "mac", "sandbox"]),
    ...under("prevResult.ips[]", ["version", "address", "interface"]),
  ]),
];

const SPELLING = new Map(TOP_KEYS.map((key) => [key.toLowerCase(), key]));

/** "vlanTrunk[].minID": of objects inside as well, top keys as they are usually spelled. Not the key that was spoiled. */
export function keysOf({ config, spoiled }: Pick<DifferentialCase, "config" | "spoiled">): Set<string> {
  const good = Object.entries(config).filter(([key]) => key.toLowerCase() !== spoiled?.toLowerCase());
  return new Set(keysUnder(Object.fromEntries(good), ""));
}

function keysUnder(value: unknown, path: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => keysUnder(item, `${path}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([spelled, inner]) => {
    const key = path === "" ? (SPELLING.get(spelled.toLowerCase()) ?? spelled) : `${path}.${spelled}`;
    return [key, ...keysUnder(inner, key)];
  });
}

/** What a long run had too little of, as one sentence. */
export function shortfall({ totals, keys }: Pick<Report, "totals" | "keys">): string | undefined {
  const { cases, bothSucceeded } = totals;
  if (cases < COVERING_CASES) return undefined;
  const missed = [
    ...(bothSucceeded * 2 < cases ? [`both sides succeeded in ${bothSucceeded} of ${cases} cases, not in half`] : []),
    ...EXPECTED_KEYS.filter((key) => (keys[key] ?? 0) < LEAST_OF_EACH_KEY).map(
      (key) => `"${key}" occurred in ${keys[key] ?? 0} cases, not in ${LEAST_OF_EACH_KEY}`,
    ),
  ];
  return missed.length === 0 ? undefined : `the run compared too little: ${missed.join("; ")}`;
}
