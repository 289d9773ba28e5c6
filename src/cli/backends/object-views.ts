import { stationsOfRange } from "../../api/host-interfaces.ts";
import { formatMac, type Mac, parseMac } from "../../api/mac.ts";
import { type ClaimOwner, type MACClaim, originFor } from "../../api/mac-claim.ts";
import {
  DEFAULT_CONFLICT_POLICY,
  DEFAULT_EXPLICIT_ADDRESSES,
  DEFAULT_HOST_ADDRESS_POLICY,
  DEFAULT_QUARANTINE_SECONDS,
  type LabelSelector,
  type MACPool,
} from "../../api/mac-pool.ts";
import { formatRange, type MacRange, parseRangeText } from "../../api/mac-range.ts";
import { DEFAULT_MAC_POOL } from "../../api/names.ts";
import type { CellView, MapView, OwnerView, PoolView, RangeView } from "../../mac-pool/inspection/rest/views.ts";
import { Segments } from "../../mac-pool/pools/segments.ts";
import { CliError } from "../faults.ts";
import type { KnownPhase, ListedClaim, MapSection } from "./pool-backend.ts";
import type { KeptBack } from "./pool-objects.ts";

/** Views from MACPool and MACClaim objects, without what only the pool's service knows. */

const REASON = "Only the MAC pool's service measures the rate of allocations.";

function rangesOf(pool: MACPool): readonly MacRange[] {
  return (pool.status?.ranges ?? []).flatMap((text) => parseRangeText(text) ?? []);
}

export function segmentsOf(pool: MACPool): Segments {
  return new Segments(rangesOf(pool));
}

/** What takes addresses out of a pool. */
export interface Taken {
  readonly claims: readonly MACClaim[];
  /** Undefined where it is not known. */
  readonly kept: KeptBack | undefined;
}

/** `countsOwn`: whether the counters in the pool's status are those of its range. */
export function poolView(pool: MACPool, taken: Taken, countsOwn: boolean): PoolView {
  const { spec, status = {}, metadata } = pool;
  const { capacity = 0, used = 0, free = 0, pending = 0, quarantined = 0, outOfRange = 0, conflicts = 0 } = status;
  const { hostAddresses, hostConflicts, history } = status;
  const counted = hostAddresses === undefined ? {} : { hostAddresses };
  const whole = { capacity, used, free, pending, quarantined, ...counted };
  const problem = problemOf(pool);
  return {
    name: metadata.name ?? "",
    ranges: segmentsOf(pool).spans.map((range) => ({
      first: formatMac(range.start),
      last: formatMac(range.end),
      ...(countsOwn ? whole : countsOf(range, taken)),
      ...stationsOf(range, taken),
    })),
    exclusions: (spec.exclusions ?? []).flatMap(({ start, end }) => {
      const [from, to] = [parseMac(start), parseMac(end)];
      return from === undefined || to === undefined ? [] : [formatRange({ start: from, end: to })];
    }),
    serves: servesText(metadata.name ?? "", spec.namespaceSelector),
    conflictPolicy: spec.conflictPolicy ?? DEFAULT_CONFLICT_POLICY,
    conflictScope: spec.conflictScope ?? "Cluster",
    explicitAddresses: spec.explicitAddresses ?? DEFAULT_EXPLICIT_ADDRESSES,
    quarantineSeconds: spec.quarantineSeconds ?? DEFAULT_QUARANTINE_SECONDS,
    ...whole,
    outOfRange,
    conflicts,
    ...(hostConflicts === undefined ? {} : { hostConflicts }),
    hostAddressPolicy: spec.hostAddressPolicy ?? DEFAULT_HOST_ADDRESS_POLICY,
    rate: { windowSeconds: 0 },
    daysToFull: { days: null, atLeast: null, atMost: null, reason: REASON },
    ...(history && { history }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** What is wrong with its spec, in the words of the manager. */
function problemOf({ metadata: { generation = 0 }, status }: MACPool): string | undefined {
  if (status?.observedGeneration === undefined) return "it has no status: is the MAC pool running?";
  if (status.observedGeneration < generation) return "its status is older than its spec: is the MAC pool running?";
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

function countsOf(range: MacRange, { claims, kept }: Taken): Omit<RangeView, "first" | "last"> {
  const segments = new Segments([range]);
  const capacity = segments.size;
  const inside = claims.filter(({ spec }) => isIn(segments, spec.mac));
  const used = inside.length;
  const hostAddresses = keptMacs(kept).filter(({ mac }) => segments.has(mac)).length;
  return {
    capacity,
    used,
    free: capacity - used - hostAddresses,
    // The objects say how many addresses of a pool are pending, not in which range.
    pending: 0,
    quarantined: inside.filter((claim) => phaseOf(claim) === "Quarantined").length,
    ...(kept === undefined ? {} : { hostAddresses }),
  };
}

function stationsOf(range: MacRange, { kept }: Taken): Pick<RangeView, "stationAddresses" | "stations"> {
  if (kept === undefined) return {};
  const stations = stationsOfRange(kept.stations, range);
  return { stationAddresses: stations?.count ?? 0, ...(stations && { stations }) };
}

function keptMacs(kept: KeptBack | undefined): readonly { readonly mac: Mac; readonly isStation: boolean }[] {
  if (kept === undefined) return [];
  const stations = [...kept.stations.keys()].map((mac) => ({ mac, isStation: true }));
  return [...[...kept.own].map((mac) => ({ mac, isStation: false })), ...stations];
}

/** The ranges of a pool. */
export interface NamedSegments {
  readonly name: string;
  readonly segments: Segments;
}

export function namedSegments(pool: MACPool): NamedSegments {
  return { name: pool.metadata.name ?? "", segments: segmentsOf(pool) };
}

export function claimView(claim: MACClaim, pools: readonly NamedSegments[], owners: readonly OwnerView[]): ListedClaim {
  const { metadata, spec, status } = claim;
  const mac = parseMac(spec.mac);
  const phase = phaseOf(claim);
  const pool = mac === undefined ? undefined : pools.find(({ segments }) => segments.has(mac));
  const range = mac === undefined ? undefined : pool?.segments.spanOf(mac);
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
    ...(pool === undefined || pool.name === spec.pool ? {} : { rangePool: pool.name }),
    ...(metadata.creationTimestamp === undefined ? {} : { created: metadata.creationTimestamp }),
    ...(phase === "Quarantined" && status?.until !== undefined ? { until: status.until } : {}),
    ...(metadata.resourceVersion === undefined ? {} : { revision: metadata.resourceVersion }),
  };
}

/** Pending and Bound, which version 0.1 wrote, mean Allocated. */
export function phaseOf({ status }: MACClaim): KnownPhase {
  return status?.phase === "Quarantined" ? "Quarantined" : "Allocated";
}

/** `origin`: where it is not that of the claim. */
export function ownersOf(claim: MACClaim): readonly (ClaimOwner & Pick<OwnerView, "origin">)[] {
  return (claim.status?.owners ?? []).map((owner) => {
    const origin = originFor(claim, owner);
    return origin === claim.spec.origin ? owner : { ...owner, origin };
  });
}

function isIn(segments: Segments, text: string): boolean {
  const mac = parseMac(text);
  return mac !== undefined && segments.has(mac);
}

/**
 * The addresses of a pool from `from` to `to`, in cells of one size; the last may be smaller. Pending addresses count as bound,
 * because the objects do not say which are pending.
 */
export function mapView(pool: MACPool, { claims, kept }: Taken, { cells, from, to }: MapSection): MapView {
  const name = pool.metadata.name ?? "";
  const part = rangesOf(pool).flatMap(({ start, end }) => {
    const range = { start: Math.max(start, from ?? start) as Mac, end: Math.min(end, to ?? end) as Mac };
    return range.start > range.end ? [] : [range];
  });
  const segments = new Segments(part);
  if (segments.size === 0)
    throw new CliError(`MACPool ${name} has no address there. Its ranges: ${segmentsOf(pool).toString() || "none"}`);
  const size = Math.ceil(segments.size / cells);
  const counts = Array.from({ length: Math.ceil(segments.size / size) }, () => ({
    pending: 0,
    bound: 0,
    quarantined: 0,
    explicit: 0,
    hostAddresses: 0,
    stationAddresses: 0,
  }));
  const cellOf = (mac: Mac | undefined) =>
    mac === undefined ? undefined : counts[Math.floor((segments.numberOf(mac) ?? -1) / size)];
  for (const claim of claims) {
    const { spec } = claim;
    const cell = cellOf(parseMac(spec.mac));
    if (cell === undefined) continue;
    if (phaseOf(claim) === "Quarantined") cell.quarantined += 1;
    else cell.bound += 1;
    if (spec.origin !== "automatic") cell.explicit += 1;
  }
  for (const { mac, isStation } of keptMacs(kept)) {
    const cell = cellOf(mac);
    if (cell !== undefined) cell.hostAddresses += 1;
    if (cell !== undefined && isStation) cell.stationAddresses += 1;
  }
  return {
    pool: name,
    from: formatMac(segments.macAt(0)),
    to: formatMac(segments.macAt(segments.size - 1)),
    cells: counts.map(({ hostAddresses, stationAddresses, ...cell }, index): CellView => {
      const first = index * size;
      const own = Math.min(size, segments.size - first);
      const free = own - cell.pending - cell.bound - cell.quarantined - hostAddresses;
      const ends = { first: formatMac(segments.macAt(first)), last: formatMac(segments.macAt(first + own - 1)) };
      const shown = kept === undefined ? {} : { hostAddresses, stationAddresses };
      return { ...ends, size: own, free, ...cell, ...shown, colliding: 0 };
    }),
    outOfRange: pool.status?.outOfRange ?? 0,
  };
}
