import { formatMac, type Mac, parseMac } from "../../api/mac.ts";
import type { ClaimOwner, MACClaim } from "../../api/mac-claim.ts";
import {
  DEFAULT_CONFLICT_POLICY,
  DEFAULT_HOST_ADDRESS_POLICY,
  DEFAULT_QUARANTINE_SECONDS,
  type LabelSelector,
  type MACPool,
} from "../../api/mac-pool.ts";
import { formatRange, type MacRange, parseRangeText } from "../../api/mac-range.ts";
import { DEFAULT_MAC_POOL } from "../../api/names.ts";
import type { OwnerView, PoolView, RangeView } from "../../mac-pool/inspection/rest/views.ts";
import { Segments } from "../../mac-pool/pools/segments.ts";
import type { KnownPhase, ListedClaim } from "./door.ts";

/** Views from MACPool and MACClaim objects, without what only the pool itself knows. */

const REASON = "Only the MAC pool's service measures the rate of allocations.";

export function rangesOf(pool: MACPool): readonly MacRange[] {
  return (pool.status?.ranges ?? []).flatMap((text) => parseRangeText(text) ?? []);
}

export function segmentsOf(pool: MACPool): Segments {
  return new Segments(rangesOf(pool));
}

/** What takes addresses out of a pool. */
export interface Taken {
  readonly claims: readonly MACClaim[];
  /** Addresses of nodes without a claim; undefined where they are not known. */
  readonly keptBack: ReadonlySet<Mac> | undefined;
}

/** `taken`: in the cluster, to count each range; undefined where the pool's own counters are enough. */
export function poolView(pool: MACPool, taken: Taken | undefined): PoolView {
  const { spec, status = {}, metadata } = pool;
  const { capacity = 0, used = 0, free = 0, pending = 0, quarantined = 0, outOfRange = 0, conflicts = 0 } = status;
  const { hostAddresses, hostConflicts } = status;
  const kept = hostAddresses === undefined ? {} : { hostAddresses };
  const whole = { capacity, used, free, pending, quarantined, ...kept };
  const problem = problemOf(pool);
  return {
    name: metadata.name ?? "",
    ranges: segmentsOf(pool).spans.map((range) => ({
      first: formatMac(range.start),
      last: formatMac(range.end),
      ...(taken === undefined ? whole : countsOf(range, taken)),
    })),
    exclusions: (spec.exclusions ?? []).flatMap(({ start, end }) => {
      const [from, to] = [parseMac(start), parseMac(end)];
      return from === undefined || to === undefined ? [] : [formatRange({ start: from, end: to })];
    }),
    serves: servesText(metadata.name ?? "", spec.namespaceSelector),
    conflictPolicy: spec.conflictPolicy ?? DEFAULT_CONFLICT_POLICY,
    conflictScope: spec.conflictScope ?? "Cluster",
    quarantineSeconds: spec.quarantineSeconds ?? DEFAULT_QUARANTINE_SECONDS,
    ...whole,
    outOfRange,
    conflicts,
    ...(hostConflicts === undefined ? {} : { hostConflicts }),
    hostAddressPolicy: spec.hostAddressPolicy ?? DEFAULT_HOST_ADDRESS_POLICY,
    rate: { allocationsPerDay: 0, releasesPerDay: 0, netPerDay: 0, windowSeconds: 0 },
    daysToFull: { days: null, atLeast: null, atMost: null, reason: REASON },
    ...(problem === undefined ? {} : { problem }),
  };
}

/** What is wrong with its spec, as the pool's manager words it. */
function problemOf({ status }: MACPool): string | undefined {
  if (status?.observedGeneration === undefined) return "it has no status: is the MAC pool running?";
  const bad = status.conditions?.find(({ type, status: value }) => type === "Valid" && value === "False");
  return bad && (bad.message ?? bad.reason ?? "");
}

function servesText(name: string, selector: LabelSelector | undefined): string {
  const labels = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const expressions = (selector?.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) => `${key} ${operator}${values.length > 0 ? ` (${values.join(", ")})` : ""}`,
  );
  const served = [...labels, ...expressions].join(" and ");
  if (served !== "") return `namespaces with ${served}`;
  return name === DEFAULT_MAC_POOL
    ? "namespaces that no other pool serves"
    : "every namespace, unless an older pool does";
}

function countsOf(range: MacRange, { claims, keptBack }: Taken): Omit<RangeView, "first" | "last"> {
  const segments = new Segments([range]);
  const capacity = segments.size;
  const inside = claims.filter(({ spec }) => isIn(segments, spec.mac));
  const used = inside.length;
  const hostAddresses = [...(keptBack ?? [])].filter((mac) => segments.has(mac)).length;
  return {
    capacity,
    used,
    free: capacity - used - hostAddresses,
    // In which range the pending ones of the pool are, its objects do not tell.
    pending: 0,
    quarantined: inside.filter((claim) => phaseOf(claim) === "Quarantined").length,
    ...(keptBack === undefined ? {} : { hostAddresses }),
  };
}

export function claimView(claim: MACClaim, pools: readonly Segments[], owners: readonly OwnerView[]): ListedClaim {
  const { metadata, spec, status } = claim;
  const mac = parseMac(spec.mac);
  const phase = phaseOf(claim);
  const range = mac === undefined ? undefined : pools.find((one) => one.has(mac))?.spanOf(mac);
  return {
    name: metadata.name ?? "",
    mac: spec.mac,
    ...(spec.pool === undefined ? {} : { pool: spec.pool }),
    origin: spec.origin,
    phase,
    owners: [...owners],
    elsewhere: 0,
    inRange: range !== undefined,
    ...(range === undefined ? {} : { range: formatRange(range) }),
    ...(metadata.creationTimestamp === undefined ? {} : { created: metadata.creationTimestamp }),
    ...(phase === "Quarantined" && status?.until !== undefined ? { until: status.until } : {}),
    ...(metadata.resourceVersion === undefined ? {} : { revision: metadata.resourceVersion }),
  };
}

/** Pending and Bound, which version 0.1 wrote, mean Allocated. */
export function phaseOf({ status }: MACClaim): KnownPhase {
  return status?.phase === "Quarantined" ? "Quarantined" : "Allocated";
}

export function ownersOf(claim: MACClaim): readonly ClaimOwner[] {
  return claim.status?.owners ?? [];
}

function isIn(segments: Segments, text: string): boolean {
  const mac = parseMac(text);
  return mac !== undefined && segments.has(mac);
}
