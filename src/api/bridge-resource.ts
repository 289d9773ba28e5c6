import { BRIDGE_RESOURCE_PREFIX } from "./names.ts";

/** The part after the slash of a qualified name. Link names have at most 15 characters, so the length always fits. */
const LEGAL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/**
 * The node resource that stands for a bridge. Undefined for names that the API server refuses as names of resources, such as
 * `br0_` or `br@1`.
 */
export function bridgeResource(bridge: string): string | undefined {
  return LEGAL_NAME.test(bridge) ? BRIDGE_RESOURCE_PREFIX + bridge : undefined;
}

/** The bridges that a node publishes, by its capacity. A kubelet that starts sets resources to 0 that it does not manage. */
export function bridgesOfCapacity(capacity: Readonly<Record<string, string>> = {}): string[] {
  return Object.entries(capacity).flatMap(([key, amount]) =>
    key.startsWith(BRIDGE_RESOURCE_PREFIX) && amount !== "0" ? [key.slice(BRIDGE_RESOURCE_PREFIX.length)] : [],
  );
}
