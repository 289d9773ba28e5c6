/** The node's bridges as its extended resources, `bridge.network.kubevirt.io/<bridge>`. Pure. */

import { bridgeResource } from "../api/bridge-resource.ts";
import { BRIDGE_RESOURCE_PREFIX } from "../api/names.ts";
import type { Link } from "../links/link-event.ts";

/** Which bridges of a node are published. */
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

export interface SkippedBridge {
  readonly name: string;
  readonly reason: SkipReason;
}

export interface BridgeResources {
  /** Names of resources. */
  readonly keys: ReadonlySet<string>;
  /** Sorted by name. */
  readonly skipped: readonly SkippedBridge[];
}

export function bridgeResources(links: readonly Link[], selection: BridgeSelection): BridgeResources {
  const masters = new Set(links.map(({ master }) => master));
  const keys = new Set<string>();
  const skipped: SkippedBridge[] = [];
  for (const { index, name, kind } of links) {
    if (kind !== "bridge") continue;
    const reason = skipReason({ name, hasPorts: masters.has(index) }, selection);
    if (reason === undefined) keys.add(BRIDGE_RESOURCE_PREFIX + name);
    else skipped.push({ name, reason });
  }
  return { keys, skipped: skipped.sort((one, other) => (one.name < other.name ? -1 : 1)) };
}

/** Undefined for a bridge that is published. A name is illegal that the API server lets no pod ask for, such as `br0_`. */
export function skipReason(
  { name, hasPorts }: { readonly name: string; readonly hasPorts: boolean },
  { include, exclude, onlyWithPorts }: BridgeSelection,
): SkipReason | undefined {
  const isIncluded = include.length === 0 || include.some((pattern) => matches(name, pattern));
  if (!isIncluded || exclude.some((pattern) => matches(name, pattern))) return "excluded";
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

/** More than the pods of any node: a bridge is not used up. */
const BRIDGE_AMOUNT = "1k";
const SAME_AMOUNT: readonly string[] = [BRIDGE_AMOUNT, "1000"];

/** The bridges' part of a node's capacity. */
export function bridgeCapacity(capacity: Readonly<Record<string, string>>): Record<string, string> {
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
