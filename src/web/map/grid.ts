import { STATION, STATIONS } from "../../api/host-interfaces.ts";
import type { CellView } from "../../mac-pool/inspection/rest/views.ts";

/** How cells lie on the canvas: in rows, in the order of the addresses. Lengths in CSS pixels. */
export interface Grid {
  readonly columns: number;
  readonly rows: number;
  /** Of a cell with its gap. */
  readonly pitch: number;
}

/** The server answers no more. */
const MAX_CELLS = 4_096;
const SMALLEST_PITCH = 9;
const LARGEST_PITCH = 28;
const MOST_ROWS = 48;

/** How many cells a canvas of this width has room for: a power of two in each row, as addresses come in such blocks. */
export function cellsFor(width: number): number {
  const columns = 2 ** Math.floor(Math.log2(Math.max(1, width / SMALLEST_PITCH)));
  return Math.min(MAX_CELLS, columns * Math.min(MOST_ROWS, columns));
}

export function gridOf(cells: number, width: number): Grid {
  const widest = 2 ** Math.floor(Math.log2(Math.max(1, width / SMALLEST_PITCH)));
  const square = 2 ** Math.ceil(Math.log2(Math.sqrt(Math.max(1, cells)) * 1.4));
  const columns = Math.max(1, Math.min(widest, square, cells));
  const pitch = Math.min(LARGEST_PITCH, width / columns);
  return { columns, rows: Math.ceil(cells / columns), pitch };
}

/** Index of the cell at a point of the canvas, undefined beside all of them. */
export function cellAt({ columns, rows, pitch }: Grid, x: number, y: number, cells: number): number | undefined {
  const [column, row] = [Math.floor(x / pitch), Math.floor(y / pitch)];
  if (column < 0 || row < 0 || column >= columns || row >= rows) return undefined;
  const index = row * columns + column;
  return index < cells ? index : undefined;
}

/** What a cell is painted as. */
export type Paint = "free" | "bound" | "pending" | "quarantined" | "explicit" | "host" | "station" | "colliding";

/** Collisions show before anything else; else what most of the addresses in the cell are that are not free. */
export function paintOf(cell: CellView): Paint {
  const { bound, pending, quarantined, explicit, hostAddresses = 0, stationAddresses = 0, colliding } = cell;
  if (colliding > 0) return "colliding";
  const used = bound + pending + quarantined;
  if (hostAddresses > used) return stationAddresses * 2 > hostAddresses ? "station" : "host";
  if (used === 0) return "free";
  if (quarantined * 2 > used) return "quarantined";
  if (pending * 2 > used) return "pending";
  return explicit * 2 > used ? "explicit" : "bound";
}

const FAINTEST = 0.35;

/** How strong: by the logarithm of the number that is not free, so that one of a million is seen, and full is strongest. */
export function strengthOf({ size, free, colliding }: CellView): number {
  const taken = size - free;
  if (colliding > 0 || size === 1) return 1;
  if (taken === 0) return 0;
  return FAINTEST + (1 - FAINTEST) * (Math.log(taken + 1) / Math.log(size + 1));
}

/** `12 of 4,096 used` and what of them is not simply bound. */
export function describeCell(cell: CellView, count: (value: number) => string): string {
  const { size, bound, pending, quarantined, explicit, hostAddresses = 0, stationAddresses = 0, colliding } = cell;
  if (size === 1) return stateOf(cell);
  const parts = [
    [pending, "pending"],
    [quarantined, "quarantined"],
    [explicit, "explicit"],
    [colliding, "colliding"],
    [hostAddresses - stationAddresses, "nodes' own"],
    [stationAddresses, `of ${STATIONS}`],
  ] as const;
  const more = parts.filter(([number]) => number > 0).map(([number, name]) => `, ${count(number)} ${name}`);
  return `${count(bound + pending + quarantined)} of ${count(size)} used${more.join("")}`;
}

function stateOf({ bound, pending, explicit, hostAddresses, stationAddresses, colliding, free }: CellView): string {
  if (free === 1) return "free";
  if (stationAddresses === 1) return `of a ${STATION}, kept back`;
  if (hostAddresses === 1) return "a node's own, kept back";
  const phase = bound === 1 ? "bound" : pending === 1 ? "pending" : "quarantined";
  return [phase, ...(explicit === 1 ? ["explicit"] : []), ...(colliding === 1 ? ["colliding"] : [])].join(", ");
}
