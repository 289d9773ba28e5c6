/** One implementation on one case: ADD, CHECK, DEL, and the case's further calls, in a node and a container of its own. */

import { mkdtemp, readdir, rm } from "node:fs/promises";
import path from "node:path";
import { type CniAnswer, type CniCall, cni } from "../cni-call.ts";
import type { Machine } from "../machine.ts";
import { type Namespace, Testbed } from "../testbed.ts";
import type { DifferentialCase } from "./case-generator.ts";
import type { Extra } from "./extra-calls.ts";

/** What a call left in the kernel, in a form in which two implementations compare. */

type State = Readonly<Record<string, unknown>>;

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
type Place = "container" | "node" | "masquerading node";

/** Texts to be replaced by names that both sides share. */
type Aliases = Readonly<Record<string, string>>;

async function kernelState(namespace: Namespace, place: Place, aliases: Aliases): Promise<State> {
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

function rename(text: string, aliases: Aliases): string {
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

export interface Attempt {
  /** "success", one of ERROR_CLASSES, or "other". */
  readonly outcome: string;
  readonly answer: unknown;
}

export interface Observation {
  readonly add: Attempt;
  readonly check: Attempt | undefined;
  readonly del: Attempt;
  /** The further calls that were made, and the state after those that are to be looked at. */
  readonly extras: ReadonlyMap<Extra, Attempt & { readonly state?: State }>;
  readonly before: State;
  readonly added: State;
  readonly deleted: State;
  readonly leases: { readonly added: readonly string[]; readonly deleted: readonly string[] };
}

/** Codes of the CNI specification; a plugin's own, from 100 on, have nothing in common. */
const ERROR_CLASSES: Readonly<Record<number, string>> = {
  1: "version",
  2: "unsupported field",
  3: "unknown container",
  4: "environment",
  5: "input",
  6: "decoding",
  7: "configuration",
  8: "own netns",
  11: "later",
  50: "not available",
  51: "limited connectivity",
};
const CAN_CHECK = ["0.4.0", "1.0.0", "1.1.0"];

/** `cniPath`: where the IPAM plugins are. */
export async function observe(
  machine: Machine,
  executable: string,
  cniPath: string,
  one: DifferentialCase,
): Promise<Observation> {
  const data = await mkdtemp(path.join(machine.shared, "cni-differential-"));
  const testbed = await Testbed.create(machine);
  try {
    const container = await testbed.container();
    await testbed.node.ip("link", "set", "lo", "up");
    for (const command of one.before) await testbed.node.ip(...command);
    for (const command of one.inContainer) await container.ip(...command);
    const call: CniCall = {
      node: testbed.node,
      container,
      containerId: "c1",
      ifname: "eth0",
      executable,
      env: { CNI_PATH: cniPath, CNI_ARGS: one.cniArgs, PATH: machine.path, ...one.variables },
    };
    const config: Record<string, unknown> = JSON.parse(
      JSON.stringify(one.config).replaceAll("DATA", data).replaceAll("SANDBOX", container.path),
    );
    const masquerades = /"ipmasq"/i.test(JSON.stringify(config));
    const state = async (aliases: Record<string, string>): Promise<State> => ({
      node: await kernelState(testbed.node, masquerades ? "masquerading node" : "node", aliases),
      container: await kernelState(container, "container", aliases),
    });
    const before = await stateBefore(machine, [...one.before, ["in the container"], ...one.inContainer], () =>
      state({}),
    );
    const extras = new Map<Extra, Attempt & { state?: State }>();
    const aliases: Record<string, string> = { [container.path]: "SANDBOX", [data]: "DATA" };
    const extra = async (name: Extra, command: string, also: Partial<CniCall> = {}, keys = {}, looked = false) => {
      if (!one.extras.includes(name)) return;
      const made = attempt(await cni(command, { ...call, ...also }, { ...config, ...keys }), aliases);
      extras.set(name, looked ? { ...made, state: await state(aliases) } : made);
    };
    await extra("STATUS", "STATUS", { container: undefined });
    const added = await cni("ADD", call, config);
    const made = (await testbed.node.links()).filter(({ ifname }) => /^veth[0-9a-f]{8}$/.test(ifname));
    const ports = made.map(({ ifname }) => ifname);
    const port = ports.find((name) => added.stdout.includes(`"${name}"`)) ?? ports[0] ?? "";
    // The node's end of a gateway in a VLAN is the only other one.
    const gatewayPort = ports.find((name) => name !== port) ?? "";
    Object.assign(aliases, { [port]: "PORT", [gatewayPort]: "GATEWAY-PORT" });
    const addedState = await state(aliases);
    const leasesAdded = await leases(data);
    const check = checkable(config, added)
      ? await cni("CHECK", call, { ...config, prevResult: added.json })
      : undefined;
    if (added.code === 0) {
      await extra("second ADD", "ADD", {}, {}, true);
      await extra("GC without a list", "GC", { container: undefined }, {}, true);
      await extra("GC of others", "GC", { container: undefined }, valid([{ containerID: "c1", ifname: "eth0" }]), true);
      await extra("GC", "GC", { container: undefined }, valid([]), true);
      await extra("DEL without netns", "DEL", { container: undefined });
    }
    const del = await cni("DEL", call, config);
    await extra("second DEL", "DEL");
    return {
      add: attempt(added, aliases),
      check: check && attempt(check, aliases),
      del: attempt(del, aliases),
      extras,
      before,
      added: addedState,
      deleted: await state(aliases),
      leases: { added: leasesAdded, deleted: await leases(data) },
    };
  } finally {
    await testbed[Symbol.asyncDispose]();
    await rm(data, { recursive: true, force: true });
  }
}

const valid = (attachments: readonly object[]) => ({ "cni.dev/valid-attachments": attachments });

const statesBefore = new WeakMap<Machine, Map<string, Promise<State>>>();

/** Nodes that were prepared alike are alike, so one of them is looked at. */
function stateBefore(machine: Machine, before: DifferentialCase["before"], look: () => Promise<State>): Promise<State> {
  const known = statesBefore.get(machine) ?? new Map<string, Promise<State>>();
  statesBefore.set(machine, known);
  const key = JSON.stringify(before);
  const state = known.get(key) ?? look();
  known.set(key, state);
  return state;
}

function checkable(config: Record<string, unknown>, added: CniAnswer): boolean {
  return added.code === 0 && CAN_CHECK.includes(String(config.cniVersion));
}

function attempt({ code, json }: CniAnswer, aliases: Record<string, string>): Attempt {
  const answer: unknown = JSON.parse(rename(JSON.stringify(json ?? null), aliases));
  return { outcome: code === 0 ? "success" : (ERROR_CLASSES[Number(json?.code)] ?? "other"), answer };
}

/** Files of host-local, and of tuning. */
async function leases(data: string): Promise<string[]> {
  const entries = await readdir(data, { recursive: true });
  return entries.filter((name) => /\/([0-9a-f.:]+|[^/]*_eth0\.json)$/.test(name)).sort();
}
