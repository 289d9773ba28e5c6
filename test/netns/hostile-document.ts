/** Configurations as nobody writes them, for a plugin's stdin. */

import type { Random } from "./differential/random.ts";

/** BAD is none. */
export const COMMANDS = ["ADD", "DEL", "CHECK", "STATUS", "GC", "BAD"] as const;
/** Of a configuration, and of every object. */
const KEYS = [
  "cniVersion",
  "name",
  "bridge",
  "mtu",
  "vlan",
  "vlanTrunk",
  "ipam",
  "dns",
  "runtimeConfig",
  "args",
  "prevResult",
  "__proto__",
] as const;

function value(random: Random, depth: number): unknown {
  const kind = random.pick(["text", "number", "flag", "null", "list", "object", "version"]);
  if (kind === "text")
    return random.pick(["", "br1", "\0", "\ud800", "a".repeat(5000), "../x", "ä", "-1", "host-local"]);
  if (kind === "number") return random.pick([0, -1, 1.5, 1e308, 4095, 65536, 2 ** 53]);
  if (kind === "flag") return random.chance(0.5);
  if (kind === "version") return random.pick(["0.2.0", "0.4.0", "1.1.0", "7"]);
  if (kind === "null" || depth === 0) return null;
  const length = Math.floor(random.next() * 4);
  if (kind === "list") return Array.from({ length }, () => value(random, depth - 1));
  const entries = Array.from({ length }, () => [
    random.pick([...KEYS, "id", "type", "mac", "interfaces", "ips"]),
    value(random, depth - 1),
  ]);
  return Object.fromEntries(entries);
}

/** What a runtime never sends: spoiled values, cut or changed text, deep nesting, members twice, too much. */
export function makeDocument(random: Random): string | Buffer {
  const base = { cniVersion: "1.1.0", name: "net", type: "bridge", bridge: "br1" };
  const spoiled = Object.fromEntries([0, 1, 2].map(() => [random.pick(KEYS), value(random, 4)]));
  const text = JSON.stringify({ ...base, ...spoiled });
  const way = random.pick(["whole", "whole", "whole", "cut", "bytes", "deep", "twice", "large"]);
  if (way === "cut") return text.slice(0, Math.floor(random.next() * text.length));
  if (way === "deep") return `{"args":${"[".repeat(20_000)}`;
  if (way === "twice") return text.replace("{", `{"name":5,"bridge":[],`);
  if (way === "large") return `${text.slice(0, -1)},"x":"${"y".repeat(2 << 20)}"}`;
  if (way === "whole") return text;
  const bytes = Buffer.from(text);
  for (let i = 0; i < 5; i++) bytes[Math.floor(random.next() * bytes.length)] = Math.floor(random.next() * 256);
  return bytes;
}
