/** Which bridges of a node are published. Pure. */

import { bridgeResource } from "../api/bridge-resource.ts";

export interface BridgeSelection {
  /** Patterns of names; empty for all. */
  readonly include: readonly string[];
  /** Patterns of names. They win over `include`. */
  readonly exclude: readonly string[];
  /** A bridge without ports leads nowhere. */
  readonly onlyWithPorts: boolean;
}

export const EVERY_BRIDGE: BridgeSelection = { include: [], exclude: [], onlyWithPorts: false };

export const SKIP_REASONS = ["excluded", "no-ports", "illegal-name"] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];

/** Undefined for a bridge that is published. A name is illegal that the API server lets no pod ask for, such as `br0_`. */
export function skipReason(
  { name, hasPorts }: { readonly name: string; readonly hasPorts: boolean },
  { include, exclude, onlyWithPorts }: BridgeSelection,
): SkipReason | undefined {
  const isAsked = include.length === 0 || include.some((pattern) => matches(name, pattern));
  if (!isAsked || exclude.some((pattern) => matches(name, pattern))) return "excluded";
  if (onlyWithPorts && !hasPorts) return "no-ports";
  return bridgeResource(name) === undefined ? "illegal-name" : undefined;
}

/** `*` stands for any characters, `?` for one; the whole name has to match. */
function matches(name: string, pattern: string): boolean {
  const parts = pattern.split(/(\*+|\?)/).map((part) => {
    if (part === "?") return ".";
    return part.startsWith("*") ? ".*" : part.replace(/[\\^$.|+()[\]{}]/g, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`, "su").test(name);
}
