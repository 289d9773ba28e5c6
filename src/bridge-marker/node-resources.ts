import { BRIDGE_RESOURCE_PREFIX } from "../api/names.ts";

/**
 * From bridges to the node's extended resources. Pure. Reads and writes only keys under `bridge.network.kubevirt.io/`.
 */

/** More than the pods of any node: a bridge is not used up. */
export const BRIDGE_AMOUNT = "1k";
const SAME_AMOUNT: readonly string[] = [BRIDGE_AMOUNT, "1000"];

/** The part after the slash of a qualified name. Link names have at most 15 characters, so the length always fits. */
const LEGAL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

export interface BridgeResources {
  readonly keys: ReadonlySet<string>;
  /** Bridges with names that the API server refuses as resource names, such as `br0_` or `br@1`. */
  readonly illegal: readonly string[];
}

export function bridgeResources(bridges: readonly string[]): BridgeResources {
  return {
    keys: new Set(bridges.filter((name) => LEGAL_NAME.test(name)).map((name) => BRIDGE_RESOURCE_PREFIX + name)),
    illegal: bridges.filter((name) => !LEGAL_NAME.test(name)),
  };
}

/** Our part of a node's capacity. */
export function ownCapacity(capacity: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(capacity).filter(([key]) => key.startsWith(BRIDGE_RESOURCE_PREFIX)));
}

/** A JSON merge patch for `status.capacity`: null removes. */
export type CapacityChange = Readonly<Record<string, string | null>>;

/** The patch after which the node has exactly these keys with the right amounts; undefined: nothing to do. */
export function planCapacity(
  keys: ReadonlySet<string>,
  capacity: Readonly<Record<string, unknown>>,
): CapacityChange | undefined {
  const change: Record<string, string | null> = {};
  for (const key of keys) {
    if (!SAME_AMOUNT.includes(String(capacity[key]))) change[key] = BRIDGE_AMOUNT;
  }
  for (const key of Object.keys(capacity)) {
    if (key.startsWith(BRIDGE_RESOURCE_PREFIX) && !keys.has(key)) change[key] = null;
  }
  return Object.keys(change).length === 0 ? undefined : change;
}
