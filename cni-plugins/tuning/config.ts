/** The tuning plugin's network configuration: what to set on the container's interface, and which sysctls. */

import { readCniArgs } from "../cni/cni-args.ts";
import { CniError, INVALID_CONFIG, INVALID_ENVIRONMENT } from "../cni/cni-error.ts";
import { type ConfigObject, isJsonObject, type Warn } from "../cni/config-object.ts";
import { knownKey, PROTOCOL_KEYS, unknownKey } from "../cni/known-key.ts";
import { requireMac } from "../cni/mac-address.ts";
import type { Request } from "../cni/request.ts";
import { DEFAULT_DATA_DIR } from "../cni/tuning-state.ts";
import { duplicateKeyBelow } from "./duplicate-keys.ts";
import { type Sysctl, sysctlOf } from "./sysctl.ts";

/** Absent: left as it is. */
export interface TuningConfig {
  readonly dataDir: string;
  readonly sysctls: readonly Sysctl[];
  readonly mac: Uint8Array | undefined;
  readonly mtu: number | undefined;
  /** Only switching on is possible: false leaves it as it is. */
  readonly promiscuous: boolean;
  readonly allMulticast: boolean | undefined;
  readonly txQueueLength: number | undefined;
}

const MTU_MAX = 0x7fffffff;
const TX_QUEUE_LENGTH_MAX = 0x7fffffff;
const UNKNOWN_KEYS_NAMED = 10;

const KNOWN_KEYS = [...PROTOCOL_KEYS, ...["sysctl", "mac", "mtu", "promisc", "allmulti", "txQLen", "dataDir"]];

/** What ADD and CHECK read. Throws for a mistake in any key. */
export function readConfig({ config, args, ifname, stdin }: Request, warn: Warn): TuningConfig {
  const twice = duplicateKeyBelow("sysctl", stdin);
  if (twice !== undefined) {
    throw new CniError(INVALID_CONFIG, `"sysctl" has the key "${twice}" twice: remove one of them`);
  }
  const read = readTuningConfig(config, args, ifname);
  warnAboutKeys(config, warn);
  return read;
}

/** Reads and checks every key. args.cni takes precedence over runtimeConfig, that over CNI_ARGS, that over the own key. */
export function readTuningConfig(config: ConfigObject, cniArgs: string, ifname: string): TuningConfig {
  const args = config.object("args").object("cni");
  const mtu = readSize(args, "mtu", MTU_MAX) ?? readSize(config, "mtu", MTU_MAX);
  return {
    dataDir: readDataDir(config),
    sysctls: readSysctls(config, args, ifname),
    mac: readMac(config, args, cniArgs),
    mtu: mtu === 0 ? undefined : mtu,
    promiscuous: args.raw("promisc") === undefined ? config.boolean("promisc") : args.boolean("promisc"),
    allMulticast: readFlag(args, "allmulti") ?? readFlag(config, "allmulti"),
    txQueueLength: readSize(args, "txQLen", TX_QUEUE_LENGTH_MAX) ?? readSize(config, "txQLen", TX_QUEUE_LENGTH_MAX),
  };
}

/** Where the state file is; DEL reads nothing else. */
export function readDataDir(config: ConfigObject): string {
  const directory = config.string("dataDir") || DEFAULT_DATA_DIR;
  if (directory.startsWith("/")) return withoutSlashAtEnd(directory);
  throw config.fault("dataDir", "an absolute path");
}

function withoutSlashAtEnd(directory: string): string {
  return directory.endsWith("/") ? withoutSlashAtEnd(directory.slice(0, -1)) : directory;
}

export function warnAboutKeys(config: ConfigObject, warn: Warn): void {
  const unknown = config.keys().filter((key) => knownKey(key, KNOWN_KEYS) === undefined);
  for (const key of unknown.slice(0, UNKNOWN_KEYS_NAMED)) warn(unknownKey(key, "", KNOWN_KEYS), "unknown key");
  const more = unknown.length - UNKNOWN_KEYS_NAMED;
  if (more > 0) warn(`${more} more unknown keys are ignored`, "unknown key");
}

function readSize(config: ConfigObject, key: string, maximum: number): number | undefined {
  return config.integer(key, 0, maximum);
}

function readFlag(config: ConfigObject, key: string): boolean | undefined {
  return config.raw(key) === undefined ? undefined : config.boolean(key);
}

/** With an args.cni.mac of "" the interface keeps its MAC. */
function readMac(config: ConfigObject, args: ConfigObject, cniArgs: string): Uint8Array | undefined {
  const fromEnvironment = readCniArgs(cniArgs, "MAC");
  const fromRuntime = config.object("runtimeConfig").string("mac");
  const own = config.string("mac");
  const fromArgs = args.string("mac");
  if (fromArgs !== undefined) return fromArgs === "" ? undefined : requireMac(fromArgs, "args.cni.mac", INVALID_CONFIG);
  if (fromRuntime) return requireMac(fromRuntime, "runtimeConfig.mac", INVALID_CONFIG);
  if (fromEnvironment !== undefined) return requireMac(fromEnvironment, "MAC in CNI_ARGS", INVALID_ENVIRONMENT);
  return own ? requireMac(own, "mac", INVALID_CONFIG) : undefined;
}

/** Those of args.cni replace those of the same key. */
function readSysctls(config: ConfigObject, args: ConfigObject, ifname: string): Sysctl[] {
  const values = { ...sysctlValues(config), ...sysctlValues(args) };
  return Object.entries(values).map(([key, value]) => sysctlOf(key, value, ifname));
}

function sysctlValues(config: ConfigObject): Record<string, string> {
  const given = config.raw("sysctl") ?? {};
  if (!isJsonObject(given)) throw config.fault("sysctl", "an object of keys and string values");
  const entries = Object.entries(given).map(([key, value]): [string, string] => {
    if (typeof value === "string") return [key, value];
    const found = JSON.stringify(value);
    throw new CniError(INVALID_CONFIG, `"sysctl": the value of "${key}" must be a string, found ${found}: quote it`);
  });
  return Object.fromEntries(entries);
}
