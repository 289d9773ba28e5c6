import { type StationsOfRange, stationsOfRange } from "../../../api/host-interfaces.ts";
import {
  DEFAULT_EXPLICIT_ADDRESSES,
  DEFAULT_HOST_ADDRESS_POLICY,
  type LabelSelector,
  type MACPool,
} from "../../../api/mac-pool.ts";
import { formatRange, type MacRange, parseRange } from "../../../api/mac-range.ts";
import { DEFAULT_MAC_POOL } from "../../../api/names.ts";
import { countsOf } from "../../cluster/pool-counts.ts";
import type { Pool } from "../../pools/pool.ts";
import type { PoolIndex } from "../../pools/pool-index.ts";
import type { ListView } from "../rest/envelopes.ts";
import type { PoolView, RangeView } from "../rest/views.ts";
import type { Catalog } from "./catalog.ts";
import { daysToFull, rateOf } from "./fill-rate.ts";
import { type Addresses, cellsOf, countsOfCell } from "./map.ts";

/** The pools, and how full they are. */
export function poolViews(catalog: Catalog): ListView<PoolView> {
  const items = catalog.caches.index.pools().map((pool) => poolView(pool, catalog));
  return { items, total: items.length };
}

export function poolView(pool: Pool, { caches, rates, claims }: Catalog): PoolView {
  const { settings, name } = pool;
  const problem = caches.problemOf(name);
  const counted = rates.of(name);
  const object = caches.pools.get(name);
  const { history } = object?.status ?? {};
  return {
    name,
    ranges: settings.segments.spans.map((range) => rangeView(pool, range, { claims, hosts: caches.index.hosts })),
    exclusions: (object?.spec?.exclusions ?? []).map(describeEnds),
    serves: describeServed(name, settings.namespaceSelector),
    conflictPolicy: settings.conflictPolicy,
    conflictScope: settings.conflictScope ?? "Cluster",
    explicitAddresses: settings.explicitAddresses ?? DEFAULT_EXPLICIT_ADDRESSES,
    quarantineSeconds: settings.quarantineMs / 1000,
    ...countsOf(pool, caches),
    hostAddressPolicy: settings.hostAddressPolicy ?? DEFAULT_HOST_ADDRESS_POLICY,
    rate: rateOf(counted),
    daysToFull: daysToFull(pool.counts.free, counted),
    ...(history && { history }),
    ...(problem === undefined ? {} : { problem }),
  };
}

function rangeView(pool: Pool, range: MacRange, addresses: RangeAddresses): RangeView {
  const cells = cellsOf(addresses, pool, range, 1);
  const { pending, bound, quarantined, hostAddresses, stationAddresses } = countsOfCell(cells, 0);
  const capacity = cells.total;
  const used = pending + bound + quarantined;
  const [first, last] = formatRange(range).split("-") as [string, string];
  const counts = { capacity, used, free: capacity - used - hostAddresses, pending, quarantined };
  const stations = stationsIn(range, pool, addresses.hosts);
  return { first, last, ...counts, hostAddresses, stationAddresses, ...(stations && { stations }) };
}

/** Also those that are given out because nodes keep back as many as they may. */
export function stationsIn(range: MacRange, pool: Pool, hosts: PoolIndex["hosts"]): StationsOfRange | undefined {
  return stationsOfRange(
    hosts.foreign().filter(([mac]) => pool.has(mac)),
    range,
  );
}

type RangeAddresses = Addresses & { readonly hosts: PoolIndex["hosts"] };

type Ends = NonNullable<NonNullable<MACPool["spec"]>["exclusions"]>[number];

function describeEnds({ start, end }: Ends): string {
  const parsed = parseRange({ rangeStart: start, rangeEnd: end });
  return parsed.ok ? formatRange(parsed.range) : `${start}-${end}`;
}

/** The namespaces of a pool, in words. */
function describeServed(pool: string, selector: LabelSelector | undefined): string {
  const rest = "namespaces that no other pool selects";
  if (selector === undefined) {
    return pool === DEFAULT_MAC_POOL
      ? rest
      : `no namespace: only ${DEFAULT_MAC_POOL} serves without a namespaceSelector`;
  }
  const labels = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values }) =>
    values === undefined ? `${key} ${operator}` : `${key} ${operator} (${values.join(", ")})`,
  );
  const selected = [...labels, ...expressions].join(" and ") || "any labels";
  return `namespaces with ${selected}${pool === DEFAULT_MAC_POOL ? `, and ${rest}` : ""}`;
}
