import { formatMac, type Mac, macFromNumber, parseMac } from "../../api/mac.ts";
import type { CellView, MapView } from "../../mac-pool/inspection/rest/views.ts";

/** Which part of a pool the map shows. Undefined: all of it. */
export interface Window {
  readonly from: string;
  readonly to: string;
}

const ZOOM_OUT = 16;

/** The cells round one of them, a sixteenth of all; of large cells the cell alone. */
export function zoomInto(cells: readonly CellView[], index: number, how: "cell" | "around"): Window | undefined {
  const cell = cells[index];
  if (cell === undefined || isSingle(cells)) return undefined;
  if (how === "cell") return { from: cell.first, to: cell.last };
  const half = Math.floor(cells.length / (2 * ZOOM_OUT));
  const first = cells[Math.max(0, index - half)] ?? cell;
  const last = cells[Math.min(cells.length - 1, index + half)] ?? cell;
  return { from: first.first, to: last.last };
}

/** Whether each cell is one address: there is nothing further in. */
export const isSingle = (cells: readonly CellView[]): boolean => cells.every(({ size }) => size === 1);

/** Sixteen times as much, round the same middle. Undefined when that is the whole of `bounds`. */
export function zoomOut({ from, to }: MapView, bounds: Window): Window | undefined {
  const [start, end] = [numberOf(from), numberOf(to)];
  const grow = Math.ceil(((end - start + 1) * (ZOOM_OUT - 1)) / 2);
  return within(start - grow, end + grow, bounds);
}

/** The window as wide as this one, before or behind it. Undefined where the pool ends. */
export function beside({ from, to }: MapView, direction: -1 | 1, bounds: Window): Window | undefined {
  const [start, end] = [numberOf(from), numberOf(to)];
  const [least, most] = [numberOf(bounds.from), numberOf(bounds.to)];
  if (direction === -1 ? start <= least : end >= most) return undefined;
  const width = end - start + 1;
  const first = Math.max(least, Math.min(start + direction * width, most - width + 1));
  return { from: textOf(first), to: textOf(Math.min(most, first + width - 1)) };
}

function within(start: number, end: number, bounds: Window): Window | undefined {
  const [least, most] = [numberOf(bounds.from), numberOf(bounds.to)];
  if (start <= least && end >= most) return undefined;
  return { from: textOf(Math.max(least, start)), to: textOf(Math.min(most, end)) };
}

const numberOf = (mac: string): Mac => parseMac(mac) ?? (0 as Mac);
const textOf = (value: number): string => formatMac(macFromNumber(value) ?? (0 as Mac));
