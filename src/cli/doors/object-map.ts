import { formatMac, type Mac, parseMac } from "../../api/mac.ts";
import type { MACPool } from "../../api/mac-pool.ts";
import type { CellView, MapView } from "../../mac-pool/inspection/rest/views.ts";
import { Segments } from "../../mac-pool/pools/segments.ts";
import { CliError } from "../faults.ts";
import type { MapSection } from "./door.ts";
import { phaseOf, rangesOf, segmentsOf, type Taken } from "./object-views.ts";

/**
 * The addresses of a pool from `from` to `to` in cells of one size, of which the last may be smaller. Pending ones count as
 * bound: which they are, the objects do not tell.
 */
export function mapView(pool: MACPool, { claims, keptBack }: Taken, { cells, from, to }: MapSection): MapView {
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
  for (const mac of keptBack ?? []) {
    const cell = cellOf(mac);
    if (cell !== undefined) cell.hostAddresses += 1;
  }
  return {
    pool: name,
    from: formatMac(segments.macAt(0)),
    to: formatMac(segments.macAt(segments.size - 1)),
    cells: counts.map(({ hostAddresses, ...cell }, index): CellView => {
      const first = index * size;
      const own = Math.min(size, segments.size - first);
      const free = own - cell.pending - cell.bound - cell.quarantined - hostAddresses;
      const ends = { first: formatMac(segments.macAt(first)), last: formatMac(segments.macAt(first + own - 1)) };
      const kept = keptBack === undefined ? {} : { hostAddresses };
      return { ...ends, size: own, free, ...cell, ...kept, colliding: 0 };
    }),
    outOfRange: pool.status?.outOfRange ?? 0,
  };
}
