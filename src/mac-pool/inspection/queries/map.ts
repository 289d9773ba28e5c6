import { formatMac, type Mac } from "../../../api/mac.ts";
import type { MacRange } from "../../../api/mac-range.ts";
import type { Pool } from "../../pools/pool.ts";
import type { PoolIndex } from "../../pools/pool-index.ts";
import type { Segments } from "../../pools/segments.ts";
import type { LazyLists } from "../rest/answer-body.ts";
import type { CellView, MapView } from "../rest/views.ts";
import type { AddressOrder } from "./address-order.ts";
import { CLASSES } from "./catalog.ts";

/** What is known of addresses, whatever pool they are of. */
export interface Addresses {
  readonly claims: Pick<AddressOrder<unknown>, "count">;
  readonly hosts: Pick<PoolIndex["hosts"], "at">;
}

/** The addresses of a part of a pool in cells of the same size; the last one may be smaller. */
export interface Cells {
  /** Number of the first address. */
  readonly begin: number;
  readonly total: number;
  readonly size: number;
  readonly length: number;
  /** How many claims of each of the CLASSES a cell has, cell after cell. */
  readonly claims: Uint32Array<ArrayBuffer>;
  /** Addresses that are kept back because nodes have or see them. */
  readonly hostAddresses: Uint32Array<ArrayBuffer>;
  /** Those of them that stations outside the cluster have. */
  readonly stationAddresses: Uint32Array<ArrayBuffer>;
}

/**
 * A part of a pool in at most so many cells of the same size. `colliding`: addresses that several running objects have.
 * Undefined where the pool has no address from `from` to `to`.
 */
export function mapOf(
  pool: Pool,
  addresses: Addresses,
  colliding: Iterable<Mac>,
  most: number,
  from: Mac | undefined,
  to: Mac | undefined,
): LazyLists<MapView> | undefined {
  const { segments } = pool.settings;
  const range = within(segments, from, to);
  if (range === undefined) return undefined;
  const cells = cellsOf(addresses, pool, range, most);
  const collisions = new Uint32Array(cells.length);
  for (const mac of colliding) {
    const cell = Math.floor(((segments.numberOf(mac) ?? -1) - cells.begin) / cells.size);
    if (cell >= 0 && cell < cells.length) collisions[cell] = (collisions[cell] ?? 0) + 1;
  }
  return {
    pool: pool.name,
    from: formatMac(range.start),
    to: formatMac(range.end),
    cells: cellViews(segments, cells, collisions),
    outOfRange: pool.counts.outOfRange,
  };
}

/** To be read once: then the memory of the counts is given back, for the reason in `answer-body.ts`. */
function* cellViews(segments: Segments, cells: Cells, collisions: Uint32Array<ArrayBuffer>): Generator<CellView> {
  try {
    for (let cell = 0; cell < cells.length; cell++) {
      const first = cells.begin + cell * cells.size;
      const size = Math.min(cells.size, cells.total - cell * cells.size);
      const { pending, bound, quarantined, explicit, hostAddresses, stationAddresses } = countsOfCell(cells, cell);
      yield {
        first: formatMac(segments.macAt(first)),
        last: formatMac(segments.macAt(first + size - 1)),
        size,
        free: size - pending - bound - quarantined - hostAddresses,
        pending,
        bound,
        quarantined,
        hostAddresses,
        stationAddresses,
        explicit,
        colliding: collisions[cell] ?? 0,
      };
    }
  } finally {
    for (const { buffer } of [cells.claims, cells.hostAddresses, cells.stationAddresses, collisions])
      buffer.transfer(0);
  }
}

export function countsOfCell({ claims, hostAddresses, stationAddresses }: Cells, cell: number) {
  const of = (name: (typeof CLASSES)[number]): number => claims[cell * CLASSES.length + CLASSES.indexOf(name)] ?? 0;
  const [pending, bound, quarantined] = [of("pending"), of("bound"), of("quarantined")];
  const kept = { hostAddresses: hostAddresses[cell] ?? 0, stationAddresses: stationAddresses[cell] ?? 0 };
  return { pending, bound, quarantined, explicit: of("explicit"), ...kept };
}

/** The first and the last address of the pool that lie between two addresses. */
function within({ ranges }: Segments, from = 0 as Mac, to = Number.POSITIVE_INFINITY as Mac): MacRange | undefined {
  const meeting = ranges.filter(({ start, end }) => start <= to && end >= from);
  const [first, last] = [meeting[0], meeting.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return { start: Math.max(first.start, from) as Mac, end: Math.min(last.end, to) as Mac };
}

/**
 * Counts the claims of a range, whose ends are addresses of the pool, and the addresses that the pool keeps back, in at most
 * so many cells. Never more than O(cells + claims + addresses kept back), and less where many claims lie in one cell.
 */
export function cellsOf(
  { claims, hosts }: Addresses,
  { settings: { segments }, excluded }: Pool,
  { start, end }: MacRange,
  most: number,
): Cells {
  const begin = segments.numberOf(start) ?? 0;
  const total = (segments.numberOf(end) ?? begin) - begin + 1;
  const size = Math.ceil(total / most);
  const length = Math.ceil(total / size);
  const cells = {
    ...{ begin, total, size, length },
    claims: new Uint32Array(length * CLASSES.length),
    hostAddresses: new Uint32Array(length),
    stationAddresses: new Uint32Array(length),
  };
  const cellOf = (mac: Mac): number => Math.floor(((segments.numberOf(mac) ?? -1) - begin) / size);
  for (const mac of excluded) {
    const cell = mac < start || mac > end ? -1 : cellOf(mac);
    if (cell < 0) continue;
    cells.hostAddresses[cell] = (cells.hostAddresses[cell] ?? 0) + 1;
    if (hosts.at(mac).some(({ isBeyond }) => isBeyond))
      cells.stationAddresses[cell] = (cells.stationAddresses[cell] ?? 0) + 1;
  }
  for (const range of segments.ranges) {
    const last = Math.min(range.end, end);
    // A cell may begin in one range and end in another one; what lies between them is not of the pool.
    for (let first = Math.max(range.start, start); first <= last; ) {
      const cell = cellOf(first as Mac);
      const after = begin + (cell + 1) * size;
      const until = Math.min(last, first + after - 1 - (segments.numberOf(first as Mac) ?? 0));
      claims.count(first as Mac, until as Mac, cells.claims, cell * CLASSES.length);
      first = until + 1;
    }
  }
  return cells;
}
