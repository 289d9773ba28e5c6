import { type ClaimOwner, distinctOwners, isNamesake, MAX_CLAIM_DOMAINS, MAX_NAME_CHARS } from "../../api/mac-claim.ts";

/**
 * Layer-2 domains: which networks can't meet, so that two interfaces may have the same address under `conflictScope: Network`.
 * A domain is a text: `bridge br1 vlan 10`, `bridge br1`, `interface eth1`, or `network NAME`. What is not known meets everything.
 */

/** Stands in a list of domains for one that nobody knows. It meets every other. */
export const UNKNOWN_DOMAIN = "unknown";

/** Plugins with `vlan`: the VLAN of the port at the bridge. */
const BRIDGE_PLUGINS = ["bridge", "cnv-bridge", "ovs", "ovs-cnv"];
const DEFAULT_BRIDGE = "cni0";
/** A port without VLAN is in this one, or sees all of a bridge that does not filter: it is as good as none. */
const NATIVE_VLAN = 1;
const MAX_VLAN = 4094;

/** A Linux interface name. */
const DEVICE = /^[^\s/:]{1,15}$/;
const ON_DEVICE = /^(?:bridge|interface) (\S+)(?: vlan (\d+))?$/;

/**
 * The domain of a NetworkAttachmentDefinition, as its plugin reads the configuration: keys in any case, numbers in quotes
 * too. Bridges count by bridge and VLAN, what stands on another device by that device, any other network by its name in the
 * configuration, else by that of the NetworkAttachmentDefinition. Undefined where that can't be told.
 */
export function domainOfConfig(
  nad: { readonly namespace: string; readonly name: string },
  config: string,
): string | undefined {
  const whole = parse(config);
  const [main, ...chained] = whole === undefined ? [] : pluginsOf(whole);
  if (whole === undefined || main === undefined) return undefined;
  const devices = ["bridge", "master"];
  if (chained.some((plugin) => plugin === undefined || devices.some((key) => plugin.has(key)))) return undefined;
  const isBridge = BRIDGE_PLUGINS.includes(String(main.get("type")));
  const bridge = main.get("bridge") || (isBridge ? DEFAULT_BRIDGE : undefined);
  if (bridge !== undefined) return isBridge ? bridgeDomain(main, bridge) : deviceDomain("bridge", bridge);
  const master = main.get("master");
  if (master) return deviceDomain("interface", master);
  const name = whole.get("name") || `${nad.namespace}/${nad.name}`;
  return typeof name === "string" && name.length <= MAX_NAME_CHARS ? `network ${name}` : undefined;
}

function bridgeDomain(plugin: Fields, bridge: unknown): string | undefined {
  const domain = deviceDomain("bridge", bridge);
  if (domain === undefined || ["vlantrunk", "trunk"].some((key) => plugin.has(key))) return domain;
  const value = plugin.get("vlan") ?? 0;
  const vlan = Number(value);
  if (!["number", "string"].includes(typeof value) || !Number.isInteger(vlan) || vlan < 0 || vlan > MAX_VLAN)
    return undefined;
  return vlan <= NATIVE_VLAN ? domain : `${domain} vlan ${vlan}`;
}

function deviceDomain(kind: "bridge" | "interface", name: unknown): string | undefined {
  return typeof name === "string" && DEVICE.test(name) ? `${kind} ${name}` : undefined;
}

/** Values by their keys in lower case; null is absent. */
type Fields = ReadonlyMap<string, unknown>;

function pluginsOf(config: Fields): readonly (Fields | undefined)[] {
  const plugins = config.get("plugins");
  if (plugins === undefined) return [config];
  return Array.isArray(plugins) ? plugins.map(fieldsOf) : [];
}

function parse(config: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(config));
  } catch {
    return undefined;
  }
}

/** Undefined where two keys differ in their case only: which of them counts depends on the plugin. */
function fieldsOf(value: unknown): Fields | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value).map(([key, entry]) => [key.toLowerCase(), entry] as const);
  if (new Set(entries.map(([key]) => key)).size < entries.length) return undefined;
  return new Map(entries.filter(([, entry]) => (entry ?? undefined) !== undefined));
}

/** Whether no domain of the one can meet one of the other; undefined: not known. */
export function areApart(some: readonly string[] | undefined, others: readonly string[] | undefined): boolean {
  if (some === undefined || others === undefined) return false;
  return some.every((one) => others.every((other) => !canMeet(one, other)));
}

/** VLANs of one bridge are apart where both are named. */
function canMeet(one: string, other: string): boolean {
  if (one === other || [one, other].includes(UNKNOWN_DOMAIN)) return true;
  const [, device, vlan] = ON_DEVICE.exec(one) ?? [];
  const [, otherDevice, otherVlan] = ON_DEVICE.exec(other) ?? [];
  if (device === undefined || device !== otherDevice) return false;
  return vlan === undefined || otherVlan === undefined || vlan === otherVlan;
}

/** All domains of both; undefined: not known. */
export function joined(some: readonly string[] | undefined, others: readonly string[] | undefined): readonly string[] {
  const all = new Set([...(some ?? [UNKNOWN_DOMAIN]), ...(others ?? [UNKNOWN_DOMAIN])]);
  return all.size > MAX_CLAIM_DOMAINS || all.has(UNKNOWN_DOMAIN) ? [UNKNOWN_DOMAIN] : [...all];
}

/**
 * Those of the owners of an address that are on a network with another of them, or may be. `domainsOf`: the layer-2 domains that
 * an owner may be in, undefined for any.
 */
export function meetingOwners(
  owners: readonly ClaimOwner[],
  domainsOf: (owner: ClaimOwner) => readonly string[] | undefined,
): readonly ClaimOwner[] {
  const meets = (one: ClaimOwner): boolean =>
    owners.some((other) => !isNamesake(one, other) && !areApart(domainsOf(one), domainsOf(other)));
  return distinctOwners(owners.filter(meets));
}
