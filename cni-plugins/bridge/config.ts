/** The bridge plugin's network configuration. */

import { readCniArgs } from "../cni/cni-args.ts";
import { CniError, INVALID_CONFIG, INVALID_ENVIRONMENT } from "../cni/cni-error.ts";
import type { ConfigObject, Warn } from "../cni/config-object.ts";
import { interfaceNameFault, newInterfaceNameFault } from "../cni/identifier.ts";
import { requireMac } from "../cni/mac-address.ts";
import { type Dns, readDns } from "../cni/result.ts";
import { type MacPrefix, readAllowedMacs } from "./allowed-macs.ts";
import { warnAboutKeys } from "./config-keys.ts";
import { readVlans, type VlanConfig } from "./vlan-config.ts";

type MasqueradeBackend = "iptables" | "nftables";

/** The keys that apply when the container gets addresses. */
export interface AddressingConfig {
  /** Name of the IPAM plugin. */
  readonly ipam: string;
  readonly gateway: boolean;
  readonly defaultGateway: boolean;
  /** Takes the place of another address of the bridge. */
  readonly forceAddress: boolean;
  readonly masquerade: boolean;
  /** Absent: what the node has. */
  readonly masqueradeBackend: MasqueradeBackend | undefined;
  readonly detectDuplicates: boolean;
}

export interface BridgeConfig {
  readonly bridge: string;
  /** Absent: 1500, or the bridge's if that is smaller; the bridge stays as it is. */
  readonly mtu: number | "inherit" | undefined;
  readonly hairpin: boolean;
  readonly promiscuous: boolean;
  readonly isolated: boolean;
  readonly spoofCheck: boolean;
  /** What the spoof check lets pass besides the interface's own address. */
  readonly allowedMacs: readonly MacPrefix[];
  /** The container's interface is left down. */
  readonly containerDown: boolean;
  /** The container's interface sends nothing of its own. */
  readonly quiet: boolean;
  /** False: router advertisements are switched off in the container's interface. True: they are as the kernel has them. */
  readonly acceptRa: boolean;
  /** Absent: a random one. */
  readonly mac: Uint8Array | undefined;
  readonly vlans: VlanConfig | undefined;
  readonly addressing: AddressingConfig | undefined;
  readonly dns: Dns;
}

/** Names under which nodes have this plugin. As an IPAM plugin it would start itself again and again. */
const OWN_NAMES: readonly unknown[] = ["bridge", "cnv-bridge"];

const DEFAULT_BRIDGE = "cni0";
const MTU_MIN = 68;
const MTU_MAX = 65535;

/** Reads and checks every key. */
export function readBridgeConfig(config: ConfigObject, cniArgs: string, warn: Warn): BridgeConfig {
  const bridge = config.string("bridge") || DEFAULT_BRIDGE;
  const fault = newInterfaceNameFault(bridge);
  if (fault !== undefined)
    throw new CniError(INVALID_CONFIG, `"bridge": "${bridge}" ${fault}: name a Linux bridge of the node`);
  const vlans = readVlans(config);
  const addressing = readAddressing(config);
  const spoofCheck = config.boolean("macspoofchk");
  warnAboutKeys(config, { addresses: addressing !== undefined, vlans: vlans !== undefined, spoofCheck }, warn);
  const read = {
    bridge,
    mtu: readMtu(config),
    hairpin: config.boolean("hairpinMode"),
    promiscuous: config.boolean("promiscMode"),
    isolated: config.boolean("portIsolation"),
    spoofCheck,
    allowedMacs: readAllowedMacs(config),
    containerDown: config.boolean("disableContainerInterface"),
    quiet: config.boolean("quiet"),
    acceptRa: config.raw("acceptRa") === undefined || config.boolean("acceptRa"),
    mac: readMac(config, cniArgs),
    vlans,
    addressing,
    dns: readDns(config),
  };
  if (read.hairpin && read.promiscuous) throw exclusive("hairpinMode", "promiscMode");
  if (addressing !== undefined && read.containerDown) throw exclusive("ipam", "disableContainerInterface");
  if (addressing !== undefined && read.quiet) throw exclusive("ipam", "quiet");
  if (addressing?.gateway) checkGatewayName(read);
  return read;
}

/** The interface that has the gateway's addresses. */
export function gatewayName({ bridge, vlans }: Pick<BridgeConfig, "bridge" | "vlans">): string {
  return vlans?.accessNamed ? `${bridge}.${vlans.access}` : bridge;
}

function checkGatewayName(config: Pick<BridgeConfig, "bridge" | "vlans">): void {
  const name = gatewayName(config);
  const fault = interfaceNameFault(name);
  if (fault === undefined) return;
  throw new CniError(
    INVALID_CONFIG,
    `"bridge": "${config.bridge}" needs the interface "${name}" for the gateway in its VLAN, whose name ${fault}: choose a bridge with a shorter name`,
  );
}

function exclusive(one: string, other: string): CniError {
  return new CniError(INVALID_CONFIG, `"${one}" and "${other}" exclude each other: set one of them only`);
}

/** Checks every key, also without an IPAM plugin. */
function readAddressing(config: ConfigObject): AddressingConfig | undefined {
  const ipam = readIpamType(config);
  const defaultGateway = config.boolean("isDefaultGateway");
  const addressing = {
    ipam,
    gateway: config.boolean("isGateway") || defaultGateway,
    defaultGateway,
    forceAddress: config.boolean("forceAddress"),
    masquerade: config.boolean("ipMasq"),
    masqueradeBackend: readBackend(config),
    detectDuplicates: config.boolean("enabledad"),
  };
  return ipam === "" ? undefined : addressing;
}

/** "" for none. */
export function readIpamType(config: ConfigObject): string {
  const type = config.object("ipam").string("type") ?? "";
  if (type === "" || ![config.raw("type"), ...OWN_NAMES].includes(type)) return type;
  throw new CniError(INVALID_CONFIG, `"ipam.type": "${type}" is this plugin itself: name an IPAM plugin`);
}

function readBackend(config: ConfigObject): MasqueradeBackend | undefined {
  const backend = config.string("ipMasqBackend");
  if (backend === undefined || backend === "iptables" || backend === "nftables") return backend;
  throw config.fault("ipMasqBackend", '"iptables" or "nftables"');
}

function readMtu(config: ConfigObject): number | "inherit" | undefined {
  if (config.raw("mtu") === "inherit") return "inherit";
  const expected = `0 (the default), "inherit" (the bridge's) or a whole number from ${MTU_MIN} to ${MTU_MAX}`;
  const value = config.raw("mtu") === undefined ? 0 : config.wholeNumber("mtu");
  if (value === 0) return undefined;
  if (value === undefined || value < MTU_MIN || value > MTU_MAX) throw config.fault("mtu", expected);
  return value;
}

/** runtimeConfig takes precedence over args, args over CNI_ARGS. */
function readMac(config: ConfigObject, cniArgs: string): Uint8Array | undefined {
  const fromEnvironment = readCniArgs(cniArgs, "MAC");
  const fromArgs = config.object("args").object("cni").string("mac");
  const fromRuntime = config.object("runtimeConfig").string("mac");
  if (fromRuntime) return requireMac(fromRuntime, "runtimeConfig.mac", INVALID_CONFIG);
  if (fromArgs) return requireMac(fromArgs, "args.cni.mac", INVALID_CONFIG);
  return fromEnvironment === undefined
    ? undefined
    : requireMac(fromEnvironment, "MAC in CNI_ARGS", INVALID_ENVIRONMENT);
}
