import { BRIDGE_RESOURCE_PREFIX } from "../api/names.ts";

/** The node's extended resources. Pure. Reads and writes only keys under `bridge.network.kubevirt.io/`. */

/** More than the pods of any node: a bridge is not used up. */
const BRIDGE_AMOUNT = "1k";
const SAME_AMOUNT: readonly string[] = [BRIDGE_AMOUNT, "1000"];

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
