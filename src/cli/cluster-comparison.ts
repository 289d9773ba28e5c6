import type { StationsOfRange } from "../api/host-interfaces.ts";
import { formatMac, type Mac, parseMac } from "../api/mac.ts";
import type { MacRange } from "../api/mac-range.ts";
import type { PoolView } from "../mac-pool/inspection/rest/views.ts";
import { Segments } from "../mac-pool/pools/segments.ts";
import type { ListedClaim } from "./backends/pool-backend.ts";

/** What several clusters would both hand out. Pure. */

/** The ranges and addresses of a cluster, as far as they are compared. */
export interface ClusterAddresses {
  /** Name of the context. */
  readonly cluster: string;
  readonly pools: readonly Pick<PoolView, "name" | "ranges">[];
  readonly claims: readonly Pick<ListedClaim, "mac">[];
}

export interface ClusterState extends ClusterAddresses {
  readonly pools: readonly PoolView[];
  readonly claims: readonly ListedClaim[];
}

export interface ClusterRange {
  readonly cluster: string;
  readonly pool: string;
  readonly first: string;
  readonly last: string;
  readonly capacity: number;
  readonly used: number;
  readonly stations?: StationsOfRange;
  /** `cluster/pool` of those that have some of its addresses too. */
  readonly overlaps: readonly string[];
}

export interface Overlap {
  readonly first: string;
  readonly last: string;
  readonly addresses: number;
  /** Two of `cluster/pool`. */
  readonly between: readonly [string, string];
}

export interface SharedAddress {
  readonly mac: string;
  readonly holders: readonly (ListedClaim & { readonly cluster: string })[];
}

interface Held extends MacRange {
  readonly cluster: string;
  readonly pool: ClusterAddresses["pools"][number];
  readonly index: number;
}

/** In the order of the clusters, with the parts that ranges of different clusters have in common. */
export function compareRanges(states: readonly ClusterAddresses[]): {
  readonly items: readonly ClusterRange[];
  readonly overlaps: readonly Overlap[];
} {
  const held = states.flatMap(heldBy);
  const common = held.flatMap((one, index) =>
    held.slice(index + 1).flatMap((other) => {
      const part = { start: Math.max(one.start, other.start) as Mac, end: Math.min(one.end, other.end) as Mac };
      return one.cluster === other.cluster || part.start > part.end ? [] : [{ one, other, part }];
    }),
  );
  return {
    items: held.map((range) => {
      const others = common.flatMap(({ one, other }) => (one === range ? [other] : other === range ? [one] : []));
      const { first = "", last = "", capacity = 0, used = 0, stations } = range.pool.ranges[range.index] ?? {};
      const overlaps = [...new Set(others.map(label))];
      const seen = stations === undefined ? {} : { stations };
      return { cluster: range.cluster, pool: range.pool.name, first, last, capacity, used, ...seen, overlaps };
    }),
    overlaps: common.map(({ one, other, part }) => ({
      first: formatMac(part.start),
      last: formatMac(part.end),
      addresses: new Segments([part]).size,
      between: [label(one), label(other)],
    })),
  };
}

/** Addresses that objects of more than one cluster have, in the order of the addresses. */
export function sharedAddresses(states: readonly ClusterState[]): readonly SharedAddress[] {
  const holders = new Map<string, (ListedClaim & { cluster: string })[]>();
  for (const { cluster, claims } of states) {
    for (const claim of claims) {
      if (claim.phase === "Quarantined") continue;
      const known = holders.get(claim.mac) ?? [];
      known.push({ ...claim, cluster });
      holders.set(claim.mac, known);
    }
  }
  return [...holders]
    .filter(([, found]) => found.length > 1)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([mac, found]) => ({ mac, holders: found }));
}

/** Last three octets. */
export const MAX_SUGGESTED = 2 ** 24;
const PREFIXES = 2 ** 16;
/** 02:xx:xx is administered locally and unicast (IEEE 802, 8.2). */
const FIRST_OCTET = 0x02;
/** Docker gives its containers 02:42:..., and 02:00:00:... is what people write by hand. */
const taken = (prefix: number): boolean => prefix >>> 8 === 0x42 || prefix === 0;

/**
 * A range of so many addresses under a prefix 02:xx:xx of its own: none of the clusters has an address of the prefix in a
 * range or in use. `random` in [0, 1) says where to begin to look. Undefined when every prefix is in use.
 */
export function suggestRange(states: readonly ClusterAddresses[], size: number, random: number): MacRange | undefined {
  const used = new Set(states.flatMap(({ claims }) => claims.map(({ mac }) => prefixOf(parseMac(mac)))));
  const held = states.flatMap(heldBy);
  for (let step = 0; step < PREFIXES; step++) {
    const prefix = (Math.floor(random * PREFIXES) + step) % PREFIXES;
    const start = (FIRST_OCTET * 2 ** 40 + prefix * MAX_SUGGESTED) as Mac;
    const last = start + MAX_SUGGESTED - 1;
    if (taken(prefix) || used.has(start / MAX_SUGGESTED)) continue;
    if (held.some((range) => range.start <= last && range.end >= start)) continue;
    return { start, end: (start + size - 1) as Mac };
  }
  return undefined;
}

function prefixOf(mac: Mac | undefined): number {
  return Math.floor((mac ?? 0) / MAX_SUGGESTED);
}

function heldBy({ cluster, pools }: ClusterAddresses): Held[] {
  return pools.flatMap((pool) =>
    pool.ranges.flatMap(({ first, last }, index): Held[] => {
      const [start, end] = [parseMac(first), parseMac(last)];
      return start === undefined || end === undefined ? [] : [{ start, end, cluster, pool, index }];
    }),
  );
}

function label({ cluster, pool }: Held): string {
  return `${cluster}/${pool.name}`;
}
