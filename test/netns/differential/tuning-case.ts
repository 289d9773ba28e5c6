/** Configurations of the tuning plugin, good ones and bad ones, and the interface that it finds. */

import type { Random } from "../../support/random.ts";
import type { DifferentialCase } from "./case-generator.ts";
import { makeCniArgs, makeVariables } from "./environment.ts";
import { pickExtras } from "./extra-calls.ts";

const MACS = ["02:00:00:00:00:01", "0a:58:0A:01:02:03", "02-00-00-00-00-02"] as const;
const VERSIONS = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0", "1.1.0"] as const;

const BAD_VALUES: Readonly<Record<string, readonly [unknown, ...unknown[]]>> = {
  cniVersion: ["9.9.9", 1, "v1.0.0"],
  name: ["-net", 5, "a/b"],
  mac: ["02:00", 5, "zz:00:00:00:00:00"],
  mtu: [1.5, [], 20],
  promisc: [1, []],
  allmulti: [1, "yes"],
  txQLen: [1.5, {}],
  sysctl: [5, { "net.ipv4.conf.eth0.arp_notify": 1 }, { "kernel.hostname": "x" }, { "net.ipv4.nowhere": "1" }],
  dataDir: [5],
  runtimeConfig: [{ mac: "02:00" }, { mac: 5 }],
  args: [{ cni: { mac: "02:00:00" } }, { cni: 5 }],
};

export function generateTuning(random: Random, number: number): DifferentialCase {
  const cniVersion = random.pick(VERSIONS);
  const config: Record<string, unknown> = {
    cniVersion,
    name: random.pick(["net", "net.1", "A_b-c"]),
    type: "tuning",
    dataDir: "DATA/tuning",
    ...(random.chance(0.95) ? { prevResult: previousResult(cniVersion) } : {}),
    ...values(random, () => random.chance(0.4)),
  };
  if (random.chance(0.5)) config.sysctl = sysctls(random, () => random.chance(0.4));
  if (random.chance(0.25)) config.runtimeConfig = { mac: random.pick(MACS) };
  if (number % 2 === 0 || random.chance(0.1)) config.args = { cni: cniArguments(random, number) };
  const cniArgs = makeCniArgs(random);
  const spoiled = random.chance(0.12) ? random.pick(Object.keys(BAD_VALUES) as [string, ...string[]]) : undefined;
  if (spoiled !== undefined) config[spoiled] = random.pick(BAD_VALUES[spoiled] ?? [null]);
  const extras = pickExtras(random, cniVersion);
  const variables = spoiled === undefined ? makeVariables(random) : {};
  return { number, config, cniArgs, variables, before: [], inContainer: anInterface(random), extras, spoiled };
}

/** Takes turns with its keys, so that a run of 300 cases has each of them more than 30 times. */
function cniArguments(random: Random, number: number): object {
  const turn = Math.floor(number / 2);
  const sysctl = sysctls(random, (_, i) => (Math.floor(turn / 2) + i) % 2 === 0);
  return {
    ...values(random, (_, i) => (turn + i) % 3 === 0 || random.chance(0.1)),
    ...(turn % 2 === 0 ? { sysctl } : {}),
  };
}

type Chosen = (entry: unknown, index: number) => boolean;

function values(random: Random, chosen: Chosen): Record<string, unknown> {
  const all = {
    mac: random.pick(MACS),
    mtu: random.pick([0, 1400, 1500, 1280, 9000]),
    promisc: random.chance(0.8),
    allmulti: random.chance(0.8),
    txQLen: random.pick([0, 1, 500, 1000, 20_000]),
  };
  return Object.fromEntries(Object.entries(all).filter(chosen));
}

function sysctls(random: Random, chosen: Chosen): Record<string, string> {
  const all = {
    "net.ipv4.conf.IFNAME.arp_notify": random.pick(["0", "1"]),
    "net/ipv6/conf/IFNAME/accept_ra": random.pick(["0", "1", "2"]),
    "net.ipv4.ip_forward": random.pick(["0", "1"]),
    "net.ipv6.conf.eth0.accept_dad": "0",
  };
  return Object.fromEntries(Object.entries(all).filter(chosen));
}

function previousResult(cniVersion: string): object {
  const interfaces = [
    { name: "br1", mac: "02:00:00:00:00:07" },
    { name: "eth0", mac: "02:00:00:00:00:05", sandbox: "SANDBOX" },
  ];
  const ip = { ...(cniVersion.startsWith("0.") ? { version: "4" } : {}), address: "10.7.0.20/24", interface: 1 };
  return { cniVersion, interfaces, ips: [ip], ...(cniVersion.startsWith("0.") ? { dns: {} } : {}) };
}

/** `ip` commands. */
function anInterface(random: Random): string[][] {
  if (random.chance(0.05)) return [];
  const changes = [
    ["mtu", "1450"],
    ["promisc", "on"],
    ["allmulticast", "on"],
    ["txqueuelen", "700"],
  ].filter(() => random.chance(0.15));
  return [
    ["link", "add", "eth0", "address", "02:00:00:00:00:05", "type", "veth", "peer", "name", "peer0"],
    ...(random.chance(0.8) ? [["link", "set", "eth0", "up"]] : []),
    ...changes.map((change) => ["link", "set", "eth0", ...change]),
  ];
}
