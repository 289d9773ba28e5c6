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
