/** The bridge plugin's network configuration. */

import { readCniArgs } from "../protocol/cni-args.ts";
import { CniError, INVALID_CONFIG, INVALID_ENVIRONMENT } from "../protocol/cni-error.ts";
import type { ConfigObject } from "../protocol/config-object.ts";
import { interfaceNameFault } from "../protocol/identifier.ts";
import { parseMacAddress, unicastFault } from "../protocol/mac-address.ts";
import { nearestKey } from "../protocol/nearest-key.ts";
import { type Dns, readDns } from "../protocol/result.ts";

export interface BridgeConfig {
  readonly bridge: string;
  /** Absent: the kernel's default for the pair, the bridge as it is. */
  readonly mtu: number | undefined;
  readonly hairpin: boolean;
  readonly promiscuous: boolean;
  readonly isolated: boolean;
  /** The container's interface is left down. */
  readonly containerDown: boolean;
  /** Absent: a random one. */
  readonly mac: Uint8Array | undefined;
  readonly dns: Dns;
}

const DEFAULT_BRIDGE = "cni0";
const MTU_MIN = 68;
const MTU_MAX = 65535;
const UNKNOWN_KEYS_NAMED = 10;
const KEY_CHARACTERS_SHOWN = 60;

const PROTOCOL_KEYS = [
  "cniVersion",
  "name",
  "type",
  "args",
  "runtimeConfig",
  "capabilities",
  "prevResult",
  "dns",
  "ipam",
  "disableCheck",
  "disableGC",
  "cni.dev/valid-attachments",
  "cni.dev/attachments",
];

const OWN_KEYS = ["bridge", "mtu", "hairpinMode", "promiscMode", "portIsolation", "disableContainerInterface"];

/** Keys of the plugin's specification that have no effect unless one of the refused ones is set. */
const KEYS_WITHOUT_EFFECT = ["forceAddress", "ipMasqBackend", "preserveDefaultVlan", "enabledad"];

const REFUSED_SWITCHES = ["isGateway", "isDefaultGateway", "ipMasq", "macspoofchk"];

const KNOWN_KEYS = [...PROTOCOL_KEYS, ...OWN_KEYS, ...KEYS_WITHOUT_EFFECT, ...REFUSED_SWITCHES, "vlan", "vlanTrunk"];

/** Reads and checks every key. Throws for wrong values and for what this version does not do. */
export function readBridgeConfig(config: ConfigObject, cniArgs: string, warn: (text: string) => void): BridgeConfig {
  refuseUnsupported(config);
  warnAboutKeys(config, warn);
  const bridge = config.string("bridge") || DEFAULT_BRIDGE;
  const fault = interfaceNameFault(bridge);
  if (fault !== undefined)
    throw new CniError(INVALID_CONFIG, `"bridge": "${bridge}" ${fault}: name a Linux bridge of the node`);
  const hairpin = config.boolean("hairpinMode");
  const promiscuous = config.boolean("promiscMode");
  if (hairpin && promiscuous) {
    throw new CniError(INVALID_CONFIG, `"hairpinMode" and "promiscMode" exclude each other: set one of them only`);
  }
  return {
    bridge,
    mtu: readMtu(config),
    hairpin,
    promiscuous,
    isolated: config.boolean("portIsolation"),
    containerDown: config.boolean("disableContainerInterface"),
    mac: readMac(config, cniArgs),
    dns: readDns(config),
  };
}

/** The keys that are set to something this version does not do, each with the value that turns it off. */
export function unsupportedKeys(config: ConfigObject): readonly string[] {
  const found = REFUSED_SWITCHES.filter((key) => config.boolean(key));
  if ((config.integer("vlan", 0, 4094) ?? 0) !== 0) found.push("vlan");
  if (config.objects("vlanTrunk").length > 0) found.push("vlanTrunk");
  if (config.object("ipam").string("type")) found.push("ipam");
  return found;
}

function refuseUnsupported(config: ConfigObject): void {
  const [key] = unsupportedKeys(config);
  if (key === undefined) return;
  throw new CniError(
    INVALID_CONFIG,
    `"${key}" is not supported by this version of the bridge plugin, which attaches at layer 2 only: remove it from the network configuration`,
  );
}

function warnAboutKeys(config: ConfigObject, warn: (text: string) => void): void {
  let unknown = 0;
  for (const key of config.keys()) {
    const known = knownKey(key);
    if (known === undefined) {
      if (++unknown <= UNKNOWN_KEYS_NAMED) warnAboutUnknown(key, warn);
    } else if (KEYS_WITHOUT_EFFECT.includes(known) && config.raw(known) !== false) {
      warn(`"${key}" has no effect on a layer 2 attachment`);
    }
  }
  if (unknown > UNKNOWN_KEYS_NAMED) warn(`${unknown - UNKNOWN_KEYS_NAMED} more unknown keys are ignored`);
}

function warnAboutUnknown(key: string, warn: (text: string) => void): void {
  const nearest = nearestKey(key, KNOWN_KEYS);
  const hint = nearest === undefined ? "" : `: did you mean "${nearest}"?`;
  warn(`unknown key "${key.slice(0, KEY_CHARACTERS_SHOWN)}" is ignored${hint}`);
}

function knownKey(key: string): string | undefined {
  if (KNOWN_KEYS.includes(key)) return key;
  const folded = key.toLowerCase();
  return KNOWN_KEYS.find((candidate) => candidate.toLowerCase() === folded);
}

function readMtu(config: ConfigObject): number | undefined {
  const mtu = config.integer("mtu", 0, MTU_MAX);
  if (mtu === undefined || mtu === 0) return undefined;
  if (mtu < MTU_MIN) throw config.fault("mtu", `0 (the default) or a whole number from ${MTU_MIN} to ${MTU_MAX}`);
  return mtu;
}

/** runtimeConfig goes before args, args before CNI_ARGS. */
function readMac(config: ConfigObject, cniArgs: string): Uint8Array | undefined {
  const fromEnvironment = readCniArgs(cniArgs, "MAC");
  const fromArgs = config.object("args").object("cni").string("mac");
  const fromRuntime = config.object("runtimeConfig").string("mac");
  if (fromRuntime) return checkMac(fromRuntime, "runtimeConfig.mac", INVALID_CONFIG);
  if (fromArgs) return checkMac(fromArgs, "args.cni.mac", INVALID_CONFIG);
  return fromEnvironment === undefined ? undefined : checkMac(fromEnvironment, "MAC in CNI_ARGS", INVALID_ENVIRONMENT);
}

function checkMac(text: string, where: string, code: number): Uint8Array {
  const mac = parseMacAddress(text);
  const fault = mac === undefined ? "is not a MAC address" : unicastFault(mac);
  if (mac !== undefined && fault === undefined) return mac;
  throw new CniError(code, `${where}: "${text}" ${fault}: write six octets such as 02:00:00:00:00:01`);
}
