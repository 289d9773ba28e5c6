import { formatMac, type Mac } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import { type MacRange, rangeContains } from "../../api/mac-range.ts";
import { statusOf } from "../core/claim.ts";
import type { Pool } from "../core/pool.ts";
import type { Segments } from "../core/segments.ts";
import type { AddressOrder } from "./address-order.ts";
import { CLASSES } from "./catalog.ts";
import type { CellView, MapView } from "./views.ts";

export interface MapRequest {
  readonly cells: number;
  readonly from?: Mac | undefined;
  readonly to?: Mac | undefined;
}

interface Cell {
  readonly first: number;
  readonly size: number;
  pending: number;
  bound: number;
  quarantined: number;
  explicit: number;
  /** Addresses of nodes that have no claim. */
  hostAddresses: number;
}

/**
 * A part of a pool in cells of the same size. `colliding`: addresses that several running objects have. Undefined where
 * the pool has no address from `from` to `to`.
 */
export function mapOf(
  pool: Pool,
  claims: AddressOrder<MACClaim>,
  colliding: Iterable<Mac>,
  { cells, from, to }: MapRequest,
): MapView | undefined {
  const { segments } = pool.settings;
  const range = within(segments, from, to);
  if (range === undefined) return undefined;
  const counted = cellsOf(claims, pool, range, cells);
  const [begin, size] = [counted[0]?.first ?? 0, counted[0]?.size ?? 1];
  const collisions = new Array<number>(counted.length).fill(0);
  for (const mac of colliding) {
    const cell = Math.floor(((segments.numberOf(mac) ?? -1) - begin) / size);
    if (cell >= 0 && cell < counted.length) collisions[cell] = (collisions[cell] ?? 0) + 1;
  }
  return {
    pool: pool.name,
    from: formatMac(range.start),
    to: formatMac(range.end),
    cells: counted.map((cell, index): CellView => {
      const { first, size, pending, bound, quarantined, explicit, hostAddresses } = cell;
      return {
        first: formatMac(segments.macAt(first)),
        last: formatMac(segments.macAt(first + size - 1)),
        size,
        free: size - pending - bound - quarantined - hostAddresses,
        pending,
        bound,
        quarantined,
        hostAddresses,
        explicit,
        colliding: collisions[index] ?? 0,
      };
    }),
    outOfRange: pool.counts.outOfRange,
  };
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
 * so many cells. A chunk of the order that lies in one cell is counted at once: O(cells + addresses kept back) and never
 * more than O(claims + addresses kept back).
 */
export function cellsOf(
  claims: AddressOrder<MACClaim>,
  { settings: { segments }, keptBack }: Pool,
  { start, end }: MacRange,
  most: number,
): readonly Cell[] {
  const begin = segments.numberOf(start) ?? 0;
  const total = (segments.numberOf(end) ?? begin) - begin + 1;
  const size = Math.ceil(total / most);
  const cells = Array.from({ length: Math.ceil(total / size) }, (_, index): Cell => {
    const offset = index * size;
    const own = Math.min(size, total - offset);
    return { first: begin + offset, size: own, pending: 0, bound: 0, quarantined: 0, explicit: 0, hostAddresses: 0 };
  });
  const cellOf = (number: number): Cell | undefined => cells[Math.floor((number - begin) / size)];
  for (const mac of keptBack) {
    const cell = mac < start || mac > end ? undefined : cellOf(segments.numberOf(mac) ?? -1);
    if (cell !== undefined) cell.hostAddresses += 1;
  }
  const numberOf = numbering(segments);
  claims.scanChunks(
    start,
    end,
    (first, last, _, tally) => {
      const [low, high] = [segments.numberOf(first), segments.numberOf(last)];
      // Only where no address between them is outside of the pool.
      if (low === undefined || high === undefined || high - low !== last - first) return false;
      const cell = cellOf(low);
      if (cell === undefined || cell !== cellOf(high)) return false;
      for (const [place, name] of CLASSES.entries()) cell[name] += tally[place] ?? 0;
      return true;
    },
    (claim, mac) => {
      const number = numberOf(mac);
      const cell = number === undefined ? undefined : cellOf(number);
      if (cell !== undefined) count(cell, claim);
    },
  );
  return cells;
}

/** The same as `numberOf` of the segments, at once for addresses that follow each other in one of their ranges. */
function numbering(segments: Segments): (mac: Mac) => number | undefined {
  let [start, end, first] = [1, 0, 0];
  return (mac) => {
    if (mac >= start && mac <= end) return first + (mac - start);
    const number = segments.numberOf(mac);
    const range = number === undefined ? undefined : segments.ranges.find((each) => rangeContains(each, mac));
    if (number !== undefined && range !== undefined)
      [start, end, first] = [range.start, range.end, number - (mac - range.start)];
    return number;
  };
}

function count(cell: Cell, claim: MACClaim): void {
  const { phase } = statusOf(claim);
  if (phase === "Bound") cell.bound += 1;
  else if (phase === "Pending") cell.pending += 1;
  else cell.quarantined += 1;
  if (claim.spec.origin !== "automatic") cell.explicit += 1;
}
