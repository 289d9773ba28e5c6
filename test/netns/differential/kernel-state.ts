/** What a call left in the kernel, in a form in which two implementations compare. */

import type { Namespace } from "../testbed.ts";

export type State = Readonly<Record<string, unknown>>;

const SECTIONS: Readonly<Record<string, string>> = {
  links: "ip -json -details link show",
  addresses: "ip -json address show",
  ipv4Routes: "ip -json route show table all",
  ipv6Routes: "ip -json -6 route show table all",
  nftables: "nft -j list ruleset 2>/dev/null || echo '{}'",
  iptables: "iptables-save 2>/dev/null; ip6tables-save 2>/dev/null",
  sysctls:
    "cd /proc/sys/net; for key in ipv4/ip_forward ipv6/conf/all/forwarding ipv6/conf/*/accept_ra ipv6/conf/*/accept_dad ipv6/conf/*/keep_addr_on_down ipv6/conf/*/disable_ipv6 ipv4/conf/*/arp_notify; do echo $key=$(cat $key); done",
};

/** Texts to be replaced by names that both sides share. */
export type Aliases = Readonly<Record<string, string>>;

export async function kernelState(namespace: Namespace, aliases: Aliases): Promise<State> {
  const script = Object.values(SECTIONS).map((command) => `(${command}); echo; echo @@@@`);
  const { stdout } = await namespace.run(["sh", "-c", script.join("\n")], { env: { PATH: process.env.PATH ?? "" } });
  const texts = stdout.split("@@@@").map((text) => rename(text.trim(), aliases));
  const [links, addresses, ipv4Routes, ipv6Routes, nftables, iptables, sysctls] = texts;
  return {
    links: sorted(parse(links).map(readLink)),
    addresses: sorted(parse(addresses).map(readAddresses)),
    routes: sorted([...parse(ipv4Routes), ...parse(ipv6Routes)].map(readRoute).filter((route) => route !== undefined)),
    nftables: readNftables(nftables),
    iptables: (iptables ?? "").split("\n").filter((line) => line.startsWith("-A") || line.startsWith(":CNI")),
    sysctls: sorted((sysctls ?? "").split("\n")),
  };
}

export function rename(text: string, aliases: Aliases): string {
  let renamed = text;
  for (const [from, to] of Object.entries(aliases)) if (from !== "") renamed = renamed.replaceAll(from, to);
  return renamed
    .replaceAll(/fe80::[0-9a-f:]+/g, "LINK-LOCAL")
    .replaceAll(/\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b/g, keepMac);
}

/** Addresses that a configuration names stay; the others are random. */
function keepMac(mac: string): string {
  return /^(02:00:00:00:00:0|0a:58|00:00:00|ff:ff:ff)/.test(mac) ? mac : "MAC";
}

// What `ip -json` and `nft -j` print is theirs to define; only some members are looked at.
type Json = Readonly<Record<string, unknown>>;

function parse(text: string | undefined): Json[] {
  const parsed: unknown = JSON.parse(text || "[]");
  return Array.isArray(parsed) ? parsed : [];
}

function readLink({ ifname, flags, mtu, operstate, master, address, promiscuity, linkinfo }: Json): Json {
  const info = (linkinfo ?? {}) as Json;
  const port = (info.info_slave_data ?? {}) as Json;
  const { hairpin, isolated, state } = port;
  return {
    ifname,
    flags,
    mtu,
    operstate,
    master,
    address,
    promiscuity,
    kind: info.info_kind,
    port: { hairpin, isolated, state },
  };
}

function readAddresses({ ifname, addr_info }: Json): Json {
  const addresses = (Array.isArray(addr_info) ? addr_info : []) as Json[];
  const shown = addresses.map(({ family, local, prefixlen, broadcast, scope, label, tentative }) => {
    return { family, local, prefixlen, broadcast, scope, label, tentative };
  });
  return { ifname, addresses: sorted(shown.filter(({ local }) => local !== "LINK-LOCAL")) };
}

function readRoute({
  dst,
  gateway,
  dev,
  metric,
  table,
  scope,
  protocol,
  type,
  prefsrc,
  metrics,
}: Json): Json | undefined {
  const noise =
    typeof dst === "string" && (dst.startsWith("LINK-LOCAL") || dst.startsWith("fe80") || dst.startsWith("ff00"));
  return noise ? undefined : { dst, gateway, dev, metric, table, scope, protocol, type, prefsrc, metrics };
}

/** Tables that the iptables program made are in its own listing. */
function readNftables(text: string | undefined): unknown[] {
  const { nftables = [] } = JSON.parse(text || "{}") as { nftables?: Json[] };
  const own = nftables.filter((object) => {
    const [[kind, value] = ["", {}]] = Object.entries(object);
    return kind !== "metainfo" && !["ip", "ip6"].includes(String((value as Json).family));
  });
  return own.map((object) =>
    JSON.parse(JSON.stringify(object, (key, value) => (key === "handle" ? undefined : value))),
  );
}

function sorted<T>(values: readonly T[]): T[] {
  return values.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
