/** `vlan` and `vlanTrunk` of a bridge configuration. */

import { CniError, INVALID_CONFIG, KERNEL_FEATURE_MISSING } from "../cni/cni-error.ts";
import type { ConfigObject } from "../cni/config-object.ts";

export interface VlanConfig {
  /** The VLAN of untagged frames; 0 where the configuration names none. */
  readonly access: number;
  /** The configuration names it: a gateway belongs into it, and a trunk that has it too makes it a tagged one. */
  readonly accessNamed: boolean;
  /** VLANs whose frames are tagged, ascending. */
  readonly trunk: readonly number[];
  readonly preserveDefault: boolean;
  /** Turns filtering on at a bridge that has it off. */
  readonly enableFiltering: boolean;
  /** Refuses a bridge that has filtering off. */
  readonly requireFiltering: boolean;
}

const VLAN_MAX = 4094;
/** Where the bridge has no default VLAN. */
const NATIVE_VLAN = 1;

/** Undefined when the configuration has to do with no VLAN. */
export function readVlans(config: ConfigObject): VlanConfig | undefined {
  const id = config.integer("vlan", 0, VLAN_MAX) ?? 0;
  const trunk = readTrunk(config);
  const preserveDefault = config.boolean("preserveDefaultVlan");
  const enableFiltering = config.boolean("enableVlanFiltering");
  const requireFiltering = config.boolean("requireVlanFiltering");
  if (id === 0 && trunk.length === 0) return undefined;
  return {
    access: id,
    accessNamed: id !== 0,
    trunk,
    preserveDefault,
    enableFiltering,
    requireFiltering,
  };
}

/** The VLAN of untagged frames: a trunk without one leaves them in the bridge's default VLAN. */
export function accessVlan({ access }: VlanConfig, defaultVlan: number): number {
  return access || defaultVlan || NATIVE_VLAN;
}

interface VlanRange {
  readonly first: number;
  readonly last: number;
}

function readTrunk(config: ConfigObject): number[] {
  const ranges: VlanRange[] = [];
  for (const item of config.objects("vlanTrunk")) {
    const first = item.integer("minID", 1, VLAN_MAX);
    const last = item.integer("maxID", 1, VLAN_MAX);
    const single = item.integer("id", 1, VLAN_MAX);
    if ((first === undefined) !== (last === undefined)) {
      throw item.missing(first === undefined ? "minID" : "maxID", "a range has minID and maxID");
    }
    if (first !== undefined && last !== undefined) {
      if (last < first) throw new CniError(INVALID_CONFIG, `"vlanTrunk": minID ${first} is greater than maxID ${last}`);
      ranges.push({ first, last });
    }
    if (single !== undefined) ranges.push({ first: single, last: single });
  }
  return idsOf(ranges);
}

/** Each VLAN once, however many of the ranges have it: a tenant may write many that have all. */
function idsOf(ranges: readonly VlanRange[]): number[] {
  const ids = new Set<number>();
  let next = 1;
  for (const { first, last } of [...ranges].sort((a, b) => a.first - b.first)) {
    for (next = Math.max(next, first); next <= last; next++) ids.add(next);
  }
  return [...ids];
}

export function isolatesNothing(bridge: string): string {
  return `bridge ${bridge} does not filter VLANs, so they isolate nothing: run "ip link set ${bridge} type bridge vlan_filtering 1"`;
}

export function kernelLacksFiltering(details: string): CniError {
  return new CniError(
    KERNEL_FEATURE_MISSING,
    '"vlan" and "vlanTrunk" need CONFIG_BRIDGE_VLAN_FILTERING in the node\'s kernel, which lacks it',
    details,
  );
}
