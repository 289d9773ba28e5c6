/** Compares what the lint says of generated networks with what an ADD does on a real kernel. */

import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "../../cni-plugins/cni/config-object.ts";
import { NAD_RESOURCE_NAME_ANNOTATION } from "../../src/api/names.ts";
import type { Finding } from "../../src/nad-lint/finding.ts";
import { lintNetwork } from "../../src/nad-lint/lint.ts";
import { segmentOfConfig } from "../../src/nad-lint/segment.ts";
import { buildPeers } from "../bench/peers.ts";
import { Random } from "../support/random.ts";
import { type CniAnswer, type CniCall, cni, pluginPath } from "./cni-call.ts";
import { generateCase } from "./differential/case-generator.ts";
import type { Machine } from "./machine.ts";
import { Testbed } from "./testbed.ts";

const IFNAME = "net1";
/** What says that pods do not start. */
const REFUSALS = ["config-unreadable", "plugin-refuses", "ipam-refuses", "address-refused", "route-refused"];
/** What says so of some pods or nodes. */
const DOUBTS = ["ipam-without-addresses", "sysctl-of-interface", "same-network", "vlan-unfiltered"];

/** Filters of packets need parts that a node may lack. */
const NOT_COMPARED = ["ipmasq", "macspoofchk", "forceaddress"];
const OF_VLANS = ["vlan", "vlantrunk"];

interface Written {
  readonly bridge: JsonObject;
  readonly tuning: JsonObject | undefined;
  /** Another network with a gateway on the same bridge, which has a pod already. */
  readonly before: JsonObject | undefined;
}

/** Routes that the kernel may refuse, and some that it takes all the same. */
const ROUTES: readonly [JsonObject, ...JsonObject[]] = [
  { dst: "192.168.90.1/24" },
  { dst: "192.168.90.0/24", gw: "10.99.0.1" },
  { dst: "192.168.90.0/24", gw: "fd00:7::1" },
  { dst: "192.168.90.0/24", scope: 254 },
  { dst: "192.168.90.0/24", scope: 255 },
  { dst: "192.168.90.0/24", scope: 509, gw: "10.7.0.9" },
  { dst: "192.168.90.0/24", scope: 200, gw: "10.7.0.9" },
  { dst: "fd00:90::1/64" },
  { dst: "fd00:90::/64", gw: "fd00:99::1" },
  { dst: "fd00:90::/64", gw: "10.7.0.1" },
  { dst: "fd00:90::/64", gw: "fe80::1", scope: 253 },
  { dst: "192.168.77.0/24" },
  { dst: "192.168.77.0/24", gw: "10.7.0.8" },
  { dst: "192.168.77.0/24", priority: 5 },
  { dst: "192.168.77.0/24", table: 254 },
  { dst: "192.168.90.0/24", gw: "10.7.0.255" },
  { dst: "192.168.90.0/24", gw: "10.7.0.0" },
  { dst: "fd00:90::/64", gw: "fd00:7::20" },
];

/** Addresses that the kernel may refuse, and some that it takes all the same. */
const ADDRESSES: readonly [readonly string[], ...(readonly string[])[]] = [
  ["10.1.0.2/24", "10.1.0.2/24"],
  ["10.1.0.2/24", "10.1.0.2/25"],
  ["fd00:1::2/64", "fd00:1::2/80"],
  ["::/128"],
  ["::1/128"],
  ["ff02::1/64"],
  ["224.0.0.1/24"],
  ["0.0.0.0/24", "127.0.0.2/8"],
];

/** A network without a mistake, or with one that people make. */
function generateNetwork(number: number, dataDir: string, kind: "plain" | "vlan"): Written {
  const random = new Random(41_000_000 + number);
  const { config } = generateCase(3, number, kind);
  const left = kind === "vlan" ? NOT_COMPARED : [...NOT_COMPARED, ...OF_VLANS];
  const kept = Object.entries(config).filter(([key]) => !left.includes(key.toLowerCase()));
  const text = JSON.stringify(Object.fromEntries(kept)).replaceAll("DATA", dataDir);
  const second = random.chance(0.15);
  const network: Record<string, unknown> = { ...JSON.parse(text), forceAddress: !second };
  const ranges = [[{ subnet: random.pick(["10.7.0.0/24", "10.8.0.0/24", "fd00:8::/64"]) }]];
  const before = second
    ? { ...FIRST, ...bridgeOf(network), ipam: { type: "host-local", dataDir: `${dataDir}/first`, ranges } }
    : undefined;
  const ipam = Object.entries(network).find(([key]) => key.toLowerCase() === "ipam")?.[1] as JsonObject | undefined;
  if (Array.isArray(ipam?.routes) && random.chance(0.3)) {
    const route = random.pick(ROUTES);
    ipam.routes.push(route, ...(random.chance(0.2) ? [{ ...route, mtu: random.pick([1400, 0]) }] : []));
  }
  if (random.chance(0.3)) {
    network.ipam = random.pick<JsonObject>([
      { type: "static" },
      { type: "static", addresses: [] },
      { type: "static", address: [{ address: "10.1.0.2/24" }] },
      { type: "host-local", dataDir, subnet: "10.1.0.0/24", route: [{ dst: "10.9.0.0/16" }] },
      { type: "host-local", dataDir, subnets: "10.1.0.0/24" },
      { type: "host-local", dataDir, routes: [{ dst: "10.9.0.0/16" }] },
      { type: "host-local", dataDir, subnet: "10.1.0.0/24", rangeStart: "10.2.0.9" },
      { type: "static", addresses: [{ address: "10.1.0.2" }] },
      { type: "../host-local" },
      { type: "static", addresses: random.pick(ADDRESSES).map((address) => ({ address })) },
    ]);
  }
  if (random.chance(0.1)) network.portIsolaton = true;
  if (random.chance(0.1)) network.capabilities = { ipRanges: true };
  if (random.chance(0.05)) network.runtimeConfig = { ipRanges: [[{ subnet: "10.6.0.0/24" }]] };
  if (random.chance(0.5)) return { bridge: network, tuning: undefined, before };
  const name = random.pick(["IFNAME", "all", IFNAME, "net2", "br1", "lo"]);
  const value = random.pick<unknown>(["1", "1", "1", 1]);
  const sysctl = { [random.pick([`net.ipv4.conf.${name}.arp_notify`, `net/ipv6/conf/${name}/accept_ra`])]: value };
  const mtu = random.chance(0.3)
    ? { mtu: random.pick<unknown>([1400, "1400", "small", 20, 68, 9000, 65_535, 65_536]) }
    : {};
  return { bridge: network, tuning: { type: "tuning", sysctl, ...mtu }, before };
}

const FIRST = { cniVersion: "1.0.0", name: "first", type: "bridge", isGateway: true };

/** Keys match in any case. */
const bridgeOf = (network: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(network).filter(([key]) => key.toLowerCase() === "bridge"));

function lintOf({ bridge, tuning, before }: Written): Finding[] {
  const { cniVersion, name, ...first } = bridge;
  const config = tuning === undefined ? bridge : { cniVersion, name, plugins: [first, tuning] };
  const at = Object.values(bridgeOf(bridge))[0] ?? "cni0";
  const annotations = { [NAD_RESOURCE_NAME_ANNOTATION]: `bridge.network.kubevirt.io/${at}` };
  const segment = before && segmentOfConfig(JSON.stringify(before), "first");
  const sameSegment = (asked: string) => (asked === segment ? "network default/first" : undefined);
  return lintNetwork({ name: "net", annotations, config: JSON.stringify(config) }, { sameSegment });
}

/** The first answer that is an error, or the last one. */
async function addOf({ bridge, tuning, before }: Written, call: CniCall): Promise<CniAnswer> {
  if (before !== undefined) await cni("ADD", { ...call, ifname: "net0" }, before);
  const made = await cni("ADD", call, bridge);
  if (made.code !== 0 || tuning === undefined) return made;
  const { cniVersion, name } = bridge;
  const executable = await pluginPath("tuning");
  return cni("ADD", { ...call, executable }, { cniVersion, name, ...tuning, prevResult: made.json });
}

export interface Compared {
  worked: number;
  failed: number;
  /** ADDs that fail without a finding, and networks that work and are said not to start. */
  readonly disagreements: string[];
}

/** `dataDirectory`: where the machine can write. */
export async function compareNetworks(
  machine: Machine,
  kind: "plain" | "vlan",
  cases: number,
  dataDirectory: string,
): Promise<Compared> {
  const CNI_PATH = await buildPeers(process.env);
  const compared: Compared = { worked: 0, failed: 0, disagreements: [] };
  for (let number = 0; number < cases; number++) {
    const dataDir = await mkdtemp(join(dataDirectory, "nad-lint-"));
    try {
      await using testbed = await Testbed.create(machine);
      const network = generateNetwork(number, dataDir, kind);
      const findings = lintOf(network).filter(({ severity }) => severity !== "note");
      const container = await testbed.container();
      const call = { node: testbed.node, container, ifname: IFNAME, env: { CNI_PATH, PATH: machine.path } };
      const { code, stdout } = await addOf(network, call);
      compared[code === 0 ? "worked" : "failed"]++;
      const wrong = findings.some((one) => REFUSALS.includes(one.code));
      const doubtful = wrong || findings.some((one) => DOUBTS.includes(one.code));
      if (code === 0 ? !wrong : doubtful) continue;
      const said = JSON.stringify(findings);
      compared.disagreements.push(`case ${number}: ${JSON.stringify(network)}\n  ADD: ${stdout}\n  lint: ${said}`);
    } finally {
      await rm(dataDir, { recursive: true });
    }
  }
  return compared;
}
