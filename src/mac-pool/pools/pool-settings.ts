import {
  DEFAULT_CONFLICT_POLICY,
  DEFAULT_PENDING_SECONDS,
  DEFAULT_QUARANTINE_SECONDS,
  type MACPool,
} from "../../api/mac-pool.ts";
import type { MacRange } from "../../api/mac-range.ts";
import { POOL_NAMES, parseRange, parseRangeText } from "../../api/mac-range.ts";
import type { PoolSettings } from "./pool.ts";
import { Segments } from "./segments.ts";

export interface ReadPool {
  readonly settings: PoolSettings;
  /** What is wrong with the spec's ranges; the last good ones are in force then. */
  readonly problem: string | undefined;
}

/**
 * Reads a MACPool. The ranges are taken as a whole: with one bad range or exclusion all of `lastGood` stays in force,
 * which is what this replica had before, else what status.ranges remembers, else nothing.
 */
export function readPool(pool: MACPool, lastGood: Segments | undefined): ReadPool {
  const parsed = parseSegments(pool);
  const segments = "problem" in parsed ? (lastGood ?? rememberedSegments(pool)) : parsed.segments;
  return {
    problem: "problem" in parsed ? parsed.problem : undefined,
    settings: {
      name: pool.metadata.name ?? "",
      segments,
      namespaceSelector: pool.spec?.namespaceSelector,
      conflictPolicy: pool.spec?.conflictPolicy ?? DEFAULT_CONFLICT_POLICY,
      ...(pool.spec?.conflictScope === undefined ? {} : { conflictScope: pool.spec.conflictScope }),
      ...(pool.spec?.explicitAddresses === undefined ? {} : { explicitAddresses: pool.spec.explicitAddresses }),
      ...(pool.spec?.hostAddressPolicy === undefined ? {} : { hostAddressPolicy: pool.spec.hostAddressPolicy }),
      ...(pool.spec?.objectOptOut === undefined ? {} : { objectOptOut: pool.spec.objectOptOut }),
      ...(pool.spec?.maxAddressesPerNamespace === undefined
        ? {}
        : { maxAddressesPerNamespace: pool.spec.maxAddressesPerNamespace }),
      quarantineMs: (pool.spec?.quarantineSeconds ?? DEFAULT_QUARANTINE_SECONDS) * 1000,
      pendingMs: (pool.spec?.pendingSeconds ?? DEFAULT_PENDING_SECONDS) * 1000,
      createdAtMs: Date.parse(pool.metadata.creationTimestamp ?? "") || 0,
    },
  };
}

function parseSegments(pool: MACPool): { segments: Segments } | { problem: string } {
  const ranges: MacRange[] = [];
  const exclusions: MacRange[] = [];
  for (const [field, list, target] of [
    ["ranges", pool.spec?.ranges ?? [], ranges],
    ["exclusions", pool.spec?.exclusions ?? [], exclusions],
  ] as const) {
    for (const [index, { start, end }] of list.entries()) {
      const parsed = parseRange({ rangeStart: start, rangeEnd: end }, { names: POOL_NAMES });
      if (!parsed.ok) return { problem: `spec.${field}[${index}]: ${parsed.reason}` };
      target.push(parsed.range);
    }
  }
  if (ranges.length === 0) return { problem: "spec.ranges is empty: the pool has no addresses to give out" };
  return { segments: new Segments(ranges, exclusions) };
}

/** status.ranges holds merged ranges with the exclusions cut out, so it can stand in for both. */
function rememberedSegments(pool: MACPool): Segments {
  return new Segments((pool.status?.ranges ?? []).flatMap((text) => parseRangeText(text) ?? []));
}
