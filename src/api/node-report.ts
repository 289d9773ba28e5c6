/** What a node's report (`node-macs.ts`) may hold. Without the schema: zod would be a fifth of a marker's heap. */

/** Bounds what a node that is compromised can keep from the pool. */
export const MAX_NODE_MACS = 64;

/** More than a node has. */
export const MAX_NODE_BRIDGES = 128;

/** Uplinks of one bridge: it has one, or several that the spanning tree protocol keeps apart. */
export const MAX_UPLINKS = 4;

/** Refusals show the name to users: no node may put control characters into them. */
export function shownInterface(name: string): string {
  return name.replace(/[^!-.0-~]/gu, "?");
}
