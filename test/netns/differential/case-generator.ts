/** Makes up network configurations, good ones and bad ones, and what the node looks like before. */

import { Random } from "../../support/random.ts";
import { makeCniArgs, makeVariables } from "./environment.ts";
import { type Extra, pickExtras } from "./extra-calls.ts";
import { generateTuning } from "./tuning-case.ts";

export interface DifferentialCase {
  readonly number: number;
  readonly config: Readonly<Record<string, unknown>>;
  readonly cniArgs: string;
  /** Variables of the environment that are other than usual. */
  readonly variables: Readonly<Record<string, string>>;
  /** `ip` commands that prepare the node. */
  readonly before: readonly (readonly string[])[];
  /** `ip` commands that prepare the container. */
  readonly inContainer: readonly (readonly string[])[];
  /** Calls besides ADD, CHECK and DEL. */
  readonly extras: readonly Extra[];
  /** A key that was given a value it can't have. */
  readonly spoiled: string | undefined;
}

/** Cases of bridge, which need any kernel or one with VLAN filtering, or of tuning. */
export type Kind = "plain" | "vlan" | "tuning";

const MACS = ["02:00:00:00:00:01", "0a:58:0A:01:02:03", "02-00-00-00-00-02"] as const;
const BAD_VALUES: Readonly<Record<string, readonly [unknown, ...unknown[]]>> = {
  cniVersion: ["9.9.9", 1, "1.0", "v1.0.0"],
  name: ["-net", "", 5, "a/b"],
  bridge: ["sixteen-letters-", "a/b", 3, "lo"],
  isGateway: ["true", 1, []],
  isDefaultGateway: ["yes", 0],
  forceAddress: ["false", {}],
  ipMasq: ["true", 2],
  ipMasqBackend: ["pf", 1],
  mtu: ["1500", 70_000, 1.5, -5, 20],
  hairpinMode: ["true", 7],
  promiscMode: [1, "on"],
  vlan: [4095, -1, "5"],
  vlanTrunk: [[{ minID: 5 }], [{ id: 5000 }], [{ minID: 9, maxID: 2 }], 5, [{ id: 0 }]],
  preserveDefaultVlan: ["true", 1],
  macspoofchk: ["true", 1],
  enabledad: ["true", 1],
  disableContainerInterface: ["true", 1],
  portIsolation: ["true", 1],
  ipam: [{ type: "nowhere" }, { type: 5 }, "host-local", { type: "static", addresses: [{ address: "10.1.2" }] }],
  dns: ["10.0.0.1", { nameservers: "10.0.0.1" }],
  runtimeConfig: [{ mac: "02:00" }, { mac: 5 }, { mac: "zz:00:00:00:00:00" }],
  args: [{ cni: { mac: "02:00:00" } }, { cni: 5 }],
};

const SEED_OFFSETS: Readonly<Record<Kind, number>> = { plain: 0, vlan: 500_000, tuning: 700_000 };

const LATER_KEYS_OFFSET = 900_000;

/** The same seed and number give the same case. */
export function generateCase(seed: number, number: number, kind: Kind = "plain"): DifferentialCase {
  const random = new Random(seed * 1_000_003 + number + SEED_OFFSETS[kind]);
  if (kind === "tuning") return generateTuning(random, number);
  const ipam = random.chance(0.65) ? makeIpam(random) : undefined;
  const config: Record<string, unknown> = {
    cniVersion: pickVersion(random, ipam !== undefined),
    name: random.pick(["net", "net.1", "A_b-c"]),
    type: "bridge",
  };
  if (random.chance(0.9)) config.bridge = random.pick(["br1", "br1", "brother"]);
  if (ipam !== undefined || random.chance(0.1)) config.ipam = ipam ?? {};
  const flags: [string, number][] = [
    ["isGateway", 0.4],
    ["isDefaultGateway", 0.3],
    ["forceAddress", 0.25],
    ["ipMasq", 0.3],
    ["hairpinMode", 0.2],
    ["promiscMode", 0.15],
    ["preserveDefaultVlan", 0.15],
    ["macspoofchk", 0.25],
    ["enabledad", 0.15],
    ["portIsolation", 0.25],
  ];
  for (const [key, probability] of flags) if (random.chance(probability)) config[key] = random.chance(0.85);
  if (random.chance(ipam === undefined ? 0.3 : 0.05)) config.disableContainerInterface = true;
  if (ipam === undefined && random.chance(0.1)) config.quiet = random.chance(0.8);
  if (random.chance(0.5)) config.ipMasqBackend = random.pick(["nftables", "nftables", "iptables"]);
  if (random.chance(0.3)) config.mtu = random.pick([0, 1400, 1500, 1280, 9000]);
  if (kind === "vlan") addVlans(random, config);
  else {
    if (random.chance(0.1)) config.vlan = random.pick([0, 0, 100]);
    if (random.chance(0.1))
      config.vlanTrunk = random.pick<unknown[]>([[], [{}, { idd: 5 }], [{ minID: 10, maxID: 12 }, { id: 20 }]]);
  }
  if (random.chance(0.25)) {
    const domain = random.chance(0.5) ? { domain: "pod.example" } : {};
    config.dns = { nameservers: ["10.0.0.1"], ...domain, search: ["example.com"], options: ["ndots:2"] };
  }
  if (random.chance(0.25)) config.runtimeConfig = { mac: random.pick(MACS) };
  if (random.chance(0.2)) config.args = { cni: { mac: random.pick(MACS) } };
  addLaterKeys(new Random(seed * 1_000_003 + number + LATER_KEYS_OFFSET), config);
  const cniArgs = makeCniArgs(random);
  const spoiled = random.chance(0.1) ? random.pick(Object.keys(BAD_VALUES) as [string, ...string[]]) : undefined;
  if (spoiled !== undefined) config[spoiled] = random.pick(BAD_VALUES[spoiled] ?? [null]);
  return {
    number,
    config: recase(random, config),
    cniArgs,
    before: prepare(random, config, kind),
    inContainer: [],
    extras: pickExtras(random, config.cniVersion),
    variables: spoiled === undefined ? makeVariables(random) : {},
    spoiled,
  };
}

/** From chances of their own, so that the other keys of a case stay what they were. */
function addLaterKeys(random: Random, config: Record<string, unknown>): void {
  if (random.chance(0.1)) config.acceptRa = random.chance(0.3);
  if (config.macspoofchk !== undefined && random.chance(0.3)) {
    config.allowedMacs = [random.pick(MACS), "00:00:5e:00:01:00/40"];
  }
}

/** The first versions have no result for a network without addresses. */
function pickVersion(random: Random, withAddresses: boolean): string {
  if (random.chance(withAddresses ? 0.25 : 0.06)) return random.pick(["0.1.0", "0.2.0"]);
  return random.pick(["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0", "1.1.0"]);
}

/** Keys match in any case. */
function recase(random: Random, config: Record<string, unknown>): Record<string, unknown> {
  if (!random.chance(0.1)) return config;
  const fold = (key: string) => (random.chance(0.3) ? key.toUpperCase() : key);
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [fold(key), value]));
}

function addVlans(random: Random, config: Record<string, unknown>): void {
  const trunked = random.chance(0.6);
  if (!trunked || random.chance(0.4)) config.vlan = random.pick([1, 7, 11, 100, 4094]);
  if (trunked) {
    const ranges = [{ minID: 10, maxID: 12 }, { id: 20 }, { minID: 100, maxID: 100 }, { minID: 2, maxID: 4094 }];
    config.vlanTrunk = ranges.filter(() => random.chance(0.5));
  }
  if (random.chance(0.3)) config.preserveDefaultVlan = random.chance(0.8);
  if (random.chance(0.35)) config.enableVlanFiltering = random.chance(0.7);
  if (random.chance(0.35)) config.requireVlanFiltering = random.chance(0.7);
}

function prepare(random: Random, { bridge }: Record<string, unknown>, kind: Kind): string[][] {
  if (!random.chance(0.35) || typeof bridge !== "string" || !bridge.startsWith("br")) return [];
  const type = random.chance(0.95) ? "bridge" : "veth";
  const commands = [["link", "add", bridge, "type", type]];
  if (kind === "vlan" && random.chance(0.6) && type === "bridge")
    commands.push(["link", "set", bridge, "type", "bridge", "vlan_filtering", "1"]);
  if (random.chance(0.5)) commands.push(["link", "set", bridge, "up"]);
  if (random.chance(0.4)) {
    const address = random.pick(["10.7.0.1/24", "10.8.0.1/24", "fd00:7::1/64", "fd00:8::1/64"]);
    commands.push(["address", "add", address, "dev", bridge, ...(address.startsWith("fd") ? ["nodad"] : [])]);
  }
  return commands;
}

/** `DATA` stands for a directory of the case's own. */
function makeIpam(random: Random): object {
  const v6 = random.chance(0.35);
  const routes = random.chance(0.5) ? { routes: makeRoutes(random, v6) } : {};
  if (random.chance(0.6)) {
    const gateway = random.chance(0.3) ? { gateway: "10.7.0.254" } : {};
    const ranges = [[{ subnet: "10.7.0.0/24", ...gateway }], ...(v6 ? [[{ subnet: "fd00:7::/64" }]] : [])];
    return { type: "host-local", dataDir: "DATA", ranges, ...routes };
  }
  const addresses = [
    { address: "10.7.0.20/24", ...(random.chance(0.5) ? { gateway: "10.7.0.1" } : {}) },
    ...(v6 ? [{ address: "fd00:7::20/64", gateway: "fd00:7::1" }] : []),
    ...(random.chance(0.15) ? [{ address: "10.9.0.20/26" }] : []),
  ];
  const dns = random.chance(0.3) ? { dns: { nameservers: ["10.7.0.53"], domain: "static.example" } } : {};
  return { type: "static", addresses, ...routes, ...dns };
}

function makeRoutes(random: Random, v6: boolean): object[] {
  const routes: object[] = [{ dst: "192.168.77.0/24" }];
  if (random.chance(0.3)) routes.push({ dst: "192.168.78.0/24", gw: "10.7.0.9" });
  if (random.chance(0.3)) routes.push({ dst: "0.0.0.0/0", gw: "10.7.0.1" });
  if (random.chance(0.3)) routes.push({ dst: "192.168.79.0/24", priority: 77, table: 1077 });
  if (random.chance(0.2)) routes.push({ dst: "192.168.80.0/24", scope: 253 });
  if (random.chance(0.1)) routes.push({ dst: "192.168.81.0/24", table: 0 });
  if (random.chance(0.1)) routes.push({ dst: "0.0.0.0/0", gw: "10.7.0.9", priority: 9 });
  // The kernel makes one route of these.
  if (v6) for (const gw of ["fd00:7::1", "fd00:7::9"]) if (random.chance(0.4)) routes.push({ dst: "::/0", gw });
  // More answers than a socket's buffer takes.
  if (random.chance(0.03)) for (let i = 0; i < 400; i++) routes.push({ dst: `10.${20 + (i >> 8)}.${i & 255}.0/24` });
  return routes;
}
