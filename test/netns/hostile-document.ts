/** Configurations as nobody writes them, for a plugin's stdin. */

import type { Random } from "../support/random.ts";

type Choices<T> = readonly [T, ...T[]];

/** What is spoiled: a configuration, keys of it, and what a person might have written under some of them. */
export interface Original {
  readonly base: object;
  readonly keys: Choices<string>;
  readonly plausible: Readonly<Record<string, Choices<unknown>>>;
}

/** BAD is none. */
export const COMMANDS = ["ADD", "DEL", "CHECK", "STATUS", "GC", "BAD"] as const;

const MEBIBYTE = 1 << 20;
const LARGE_BYTES = [2 * MEBIBYTE, 10 * MEBIBYTE] as const;

/** Of every plugin. */
const PROTOCOL_KEYS = ["cniVersion", "name", "dns", "runtimeConfig", "args", "prevResult", "__proto__"] as const;

const MAC = "02:00:00:00:00:77";
const SYSCTLS: Choices<unknown> = [
  { "net.ipv4.conf.IFNAME.arp_notify": "1" },
  { "net.ipv4.conf.IFNAME.arp_notify": "1", "net.ipv4.nonsense": "1" },
  { "net.ipv4.conf.IFNAME.arp_ignore": "no number" },
  { "net/../kernel/hostname": "x" },
  { "net.ipv4.conf.IFNAME.arp_notify": 1 },
];
const FROM_RUNTIME: Readonly<Record<string, Choices<unknown>>> = {
  args: [{ cni: { mac: MAC, mtu: 1300, promisc: true } }, { cni: { mac: "" } }, { cni: { sysctl: SYSCTLS[0] } }],
  runtimeConfig: [{ mac: MAC }, { mac: "01:00:00:00:00:00" }, { ips: ["10.9.0.9/24"] }],
};

/** What needs no rules of netfilter and no other program. */
export const LAYER_2: Original = {
  base: { cniVersion: "1.1.0", name: "net", type: "bridge", bridge: "br1" },
  keys: [...PROTOCOL_KEYS, "bridge", "mtu", "vlan", "vlanTrunk", "ipam"],
  plausible: {},
};

export const BRIDGE: Original = {
  base: { ...LAYER_2.base, ipMasqBackend: "nftables" },
  keys: [
    ...LAYER_2.keys,
    ...["macspoofchk", "ipMasq", "ipMasqBackend", "isGateway", "isDefaultGateway", "forceAddress", "enabledad"],
    ...["promiscMode", "hairpinMode", "portIsolation", "disableContainerInterface", "ipam", "ipam", "macspoofchk"],
    ...["allowedMacs", "acceptRa"],
  ],
  plausible: {
    ...FROM_RUNTIME,
    ipam: [
      { type: "host-local", dataDir: "/run/leases", ranges: [[{ subnet: "10.9.0.0/24" }]] },
      { type: "static", addresses: [{ address: "10.8.0.5/24", gateway: "10.8.0.1" }] },
      { type: "static", addresses: [{ address: "10.8.0.0/33" }] },
      { type: "host-local" },
      { type: "missing" },
    ],
    ...Object.fromEntries(["macspoofchk", "ipMasq", "isGateway", "isDefaultGateway"].map((key) => [key, [true]])),
    mtu: [1400, 70_000_000],
    allowedMacs: [[MAC, "02:00:00:00:00:00/24"], ["02:00:00:00:00:77/24"], [""], Array(100).fill(MAC)],
    acceptRa: [false, true],
  },
};

export const TUNING: Original = {
  base: { cniVersion: "1.1.0", name: "net", type: "tuning", prevResult: { cniVersion: "1.1.0", interfaces: [] } },
  keys: [...PROTOCOL_KEYS, "sysctl", "sysctl", "mac", "mac", "mtu", "promisc", "allmulti", "txQLen", "dataDir"],
  plausible: {
    ...FROM_RUNTIME,
    sysctl: SYSCTLS,
    mac: [MAC, "01:00:00:00:00:01", "02:00"],
    mtu: [1400, 5, 70_000_000],
    promisc: [true],
    allmulti: [true, false],
    txQLen: [5, 0x7fffffff],
    dataDir: ["/run/elsewhere"],
    prevResult: [{ cniVersion: "0.2.0" }, { cniVersion: "1.1.0", interfaces: [{ name: 5 }, null] }],
  },
};

function value(random: Random, keys: Choices<string>, depth: number): unknown {
  const kind = random.pick(["text", "number", "flag", "null", "list", "object", "version"]);
  if (kind === "text")
    return random.pick(["", "br1", "\0", "\ud800", "a".repeat(5000), "../x", "ä", "-1", "host-local"]);
  if (kind === "number") return random.pick([0, -1, 1.5, 1e308, 4095, 65536, 2 ** 53]);
  if (kind === "flag") return random.chance(0.5);
  if (kind === "version") return random.pick(["0.2.0", "0.4.0", "1.1.0", "7"]);
  if (kind === "null" || depth === 0) return null;
  const length = Math.floor(random.next() * 4);
  if (kind === "list") return Array.from({ length }, () => value(random, keys, depth - 1));
  const entries = Array.from({ length }, () => [
    random.pick([...keys, "id", "type", "mac", "interfaces", "ips"]),
    value(random, keys, depth - 1),
  ]);
  return Object.fromEntries(entries);
}

/** As a person might have written it; mistakes of theirs too. */
function writtenMembers(random: Random, { plausible }: Original): [string, unknown][] {
  return Object.entries(plausible).flatMap(([key, written]) =>
    random.chance(0.3) ? [[key, random.pick(written)]] : [],
  );
}

function spoiledMembers(random: Random, { keys }: Original): [string, unknown][] {
  const length = random.pick([0, 1, 2, 3]);
  return Array.from({ length }, () => [random.pick(keys), value(random, keys, 4)]);
}

/** What a runtime never sends: spoiled values, cut or changed text, deep nesting, members twice, too much. */
export function makeDocument(random: Random, original: Original): string | Buffer {
  const members = [...writtenMembers(random, original), ...spoiledMembers(random, original)];
  const text = JSON.stringify({ ...original.base, ...Object.fromEntries(members) });
  const way = random.pick(["whole", "whole", "whole", "cut", "bytes", "deep", "twice", "large"]);
  if (way === "cut") return text.slice(0, Math.floor(random.next() * text.length));
  if (way === "deep") return `{"args":${"[".repeat(20_000)}`;
  if (way === "twice") return text.replace("{", `{"name":5,"bridge":[],`);
  if (way === "large") return `${text.slice(0, -1)},"x":"${"y".repeat(random.pick(LARGE_BYTES))}"}`;
  if (way === "whole") return text;
  const bytes = Buffer.from(text);
  for (let i = 0; i < 5; i++) bytes[Math.floor(random.next() * bytes.length)] = Math.floor(random.next() * 256);
  return bytes;
}
