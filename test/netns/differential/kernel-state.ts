/** What a call left in the kernel, in a form in which two implementations compare. */

import type { Namespace } from "../testbed.ts";

export type State = Readonly<Record<string, unknown>>;

const SYSCTLS =
  "ipv4/ip_forward ipv6/conf/all/forwarding ipv6/conf/*/accept_ra ipv6/conf/*/accept_dad ipv6/conf/*/keep_addr_on_down ipv6/conf/*/disable_ipv6 ipv4/conf/*/arp_notify";

/** Few programs, because starting one is what costs in a guest. */
const SECTIONS: Readonly<Record<string, string>> = {
  shown: "printf 'link show\\naddress show\\nroute show table all\\n' | $IP -json -details -batch -",
  ipv6Routes: "$IP -json -details -6 route show table all",
  sysctls: `cd /proc/sys/net && grep -H . ${SYSCTLS}`,
};
const NODE_SECTIONS: Readonly<Record<string, string>> = {
  ...SECTIONS,
  vlans: "bridge -json vlan show 2>/dev/null",
  nftables: "nft -j list ruleset 2>/dev/null || echo '{}'",
};
const MASQUERADE_SECTIONS: Readonly<Record<string, string>> = {
  ...NODE_SECTIONS,
  iptables: "iptables-save 2>/dev/null; ip6tables-save 2>/dev/null",
};

/** What is looked at: rules and VLANs are the node's, and iptables has rules only for masquerading. */
export type Place = "container" | "node" | "masquerading node";

/** Texts to be replaced by names that both sides share. */
export type Aliases = Readonly<Record<string, string>>;

export async function kernelState(namespace: Namespace, place: Place, aliases: Aliases): Promise<State> {
  const sections = place === "container" ? SECTIONS : place === "node" ? NODE_SECTIONS : MASQUERADE_SECTIONS;
  const script = Object.values(sections).map((command) => `(${command}); echo; echo @@@@`);
  const { stdout } = await namespace.run(["sh", "-c", script.join("\n")], {
    env: { PATH: namespace.machine.path, IP: namespace.machine.ip },
  });
  const texts = stdout.split("@@@@").map((text) => rename(text.trim(), aliases));
  const text = (name: string) => texts[Object.keys(sections).indexOf(name)] ?? "";
  const [links = "", addresses = "", ipv4Routes = ""] = text("shown").split("\n");
  return {
    links: sorted(parse(links).map(readLink)),
    addresses: sorted(parse(addresses).map(readAddresses)),
    routes: sorted(
      [...parse(ipv4Routes), ...parse(text("ipv6Routes"))].map(readRoute).filter((one) => one !== undefined),
    ),
    nftables: readNftables(text("nftables")),
    iptables: text("iptables")
      .split("\n")
      .filter((line) => line.startsWith("-A") || line.startsWith(":CNI")),
    sysctls: sorted(
      text("sysctls")
        .split("\n")
        .map((line) => line.replace(":", "=")),
    ),
    vlans: sorted(parse(text("vlans"))),
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
  return /^(02:00:00:00:00:0|0a:58:0a:01:02:03|00:00:00|ff:ff:ff)/.test(mac) ? mac : "MAC";
}

// What `ip -json` and `nft -j` print is theirs to define; only some members are looked at.
type Json = Readonly<Record<string, unknown>>;

function parse(text: string | undefined): Json[] {
  const parsed: unknown = JSON.parse(text || "[]");
  return Array.isArray(parsed) ? parsed : [];
}

/** They follow an interface's other end some moments later. */
const CARRIER_FLAGS: readonly unknown[] = ["NO-CARRIER", "LOWER_UP"];

function readLink({ ifname, flags, mtu, operstate, master, address, promiscuity, txqlen, linkinfo }: Json): Json {
  const info = (linkinfo ?? {}) as Json;
  const port = (info.info_slave_data ?? {}) as Json;
  const { hairpin, isolated, state } = port;
  const list: unknown[] = Array.isArray(flags) ? flags : [];
  return {
    ifname,
    flags: list.filter((flag) => !CARRIER_FLAGS.includes(flag)),
    carrier: list.filter((flag) => CARRIER_FLAGS.includes(flag)),
    mtu,
    operstate,
    master,
    address,
    promiscuity,
    txqlen,
    kind: info.info_kind,
    filtering: ((info.info_data ?? {}) as Json).vlan_filtering,
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
  nexthops,
}: Json): Json | undefined {
  const noise =
    typeof dst === "string" && (dst.startsWith("LINK-LOCAL") || dst.startsWith("fe80") || dst.startsWith("ff00"));
  return noise ? undefined : { dst, gateway, dev, metric, table, scope, protocol, type, prefsrc, metrics, nexthops };
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
