import type { Options } from "./command-line.ts";
import { fitted, type Terminal, wrapped } from "./terminal.ts";

/** Columns as kubectl prints them: left-aligned, three spaces apart, as wide as their longest cell. */

export const GAP = "   ";
/** Where the table is too wide, long cells are cut to this before a column goes, and to the second after that. */
const COMFORTABLE_CELL = 24;
const MIN_CELL = 8;

export interface Column<T> {
  readonly header: string;
  readonly cell: (row: T) => string;
  /** The same in fewer characters, for a table that is too wide. */
  readonly short?: (row: T) => string;
  /** Where that is not enough, columns with it go, the highest first. */
  readonly drop?: number;
  /** May be cut. */
  readonly cut?: boolean;
  /** Where the table is too wide, its cells stand in lines of their own, each below its row. */
  readonly below?: boolean;
}

export interface TableOptions {
  readonly noHeaders: boolean;
  /** The width to fit into; undefined for any. */
  readonly columns?: number | undefined;
  /** Of a table of any width: the width for texts. */
  readonly textColumns?: number | undefined;
}

/** A table of -o wide is not fitted to the terminal: only sentences, and lists that would make it wider yet. */
export function tableOptions({ noHeaders, output }: Options, { columns }: Terminal): TableOptions {
  return output === "wide" ? { noHeaders, textColumns: columns } : { noHeaders, columns };
}

export function formatTable<T>(columns: readonly Column<T>[], rows: readonly T[], options: TableOptions): string {
  const { columns: room = Number.POSITIVE_INFINITY, textColumns: textRoom = room, noHeaders } = options;
  const whole = columns.map((column) => cellsOf(column, column.cell, rows, noHeaders));
  if (widthOf(whole) <= textRoom) return joined(whole);
  const [below, beside] = [columns.filter((column) => column.below), columns.filter((column) => !column.below)];
  if (below.length > 0) return withTextsBelow(below, rows, formatTable(beside, rows, options), options);
  if (textRoom < room) {
    const lists = whole.map((column) => ({ ...column, cut: column.cut && column.drop !== undefined }));
    return joined(cutTo(COMFORTABLE_CELL, lists, textRoom));
  }
  const short = columns.map((column) => cellsOf(column, column.short ?? column.cell, rows, noHeaders));
  let shown = cutTo(COMFORTABLE_CELL, short, room);
  while (widthOf(shown) > room) {
    const next = shown.filter(({ drop }) => drop !== undefined).sort((a, b) => (b.drop ?? 0) - (a.drop ?? 0))[0];
    if (next === undefined) break;
    const left = shown.filter((column) => column !== next);
    shown = cutTo(
      COMFORTABLE_CELL,
      short.filter(({ header }) => left.some((column) => column.header === header)),
      room,
    );
  }
  return joined(cutTo(MIN_CELL, shown, room));
}

/** Of a text below its row. */
const BELOW_INDENT = 4;

function withTextsBelow<T>(
  columns: readonly Column<T>[],
  rows: readonly T[],
  table: string,
  { columns: most, textColumns: room = most, noHeaders }: TableOptions,
): string {
  const lines = table.split(/(?<=\n)/);
  const head = noHeaders ? "" : lines.shift();
  const texts = rows.map((row) => {
    const cells = new Set(columns.map(({ cell }) => cell(row)));
    cells.delete("");
    return [...cells].map((text) => wrapped({ columns: room }, text, BELOW_INDENT)).join("");
  });
  return [head, ...lines.map((line, index) => line + (texts[index] ?? ""))].join("");
}

interface Cells {
  readonly header: string;
  readonly cells: readonly string[];
  readonly width: number;
  readonly drop: number | undefined;
  readonly cut: boolean;
}

function cellsOf<T>(
  { header, drop, cut = false }: Column<T>,
  cell: (row: T) => string,
  rows: readonly T[],
  noHeaders: boolean,
): Cells {
  const cells = rows.map((row) => cell(row) || "-");
  if (!noHeaders) cells.unshift(header);
  return { header, cells, width: cells.reduce((most, { length }) => Math.max(most, length), 0), drop, cut };
}

function widthOf(columns: readonly Cells[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0) + GAP.length * (columns.length - 1);
}

/** Takes from the widest column that may be cut, until another is the widest, the table fits or all are as narrow as `least`. */
function cutTo(least: number, columns: readonly Cells[], room: number): readonly Cells[] {
  let cut = columns;
  for (let excess = widthOf(cut) - room; excess > 0; excess = widthOf(cut) - room) {
    const [widest, next] = cut.filter((column) => column.cut && column.width > least).sort((a, b) => b.width - a.width);
    if (widest === undefined) break;
    const lowest = Math.max(least, Math.min(next?.width ?? least, widest.width - 1));
    const width = Math.max(lowest, widest.width - excess);
    cut = cut.map((column) => (column === widest ? { ...column, width } : column));
  }
  return cut;
}

function joined(columns: readonly Cells[]): string {
  const height = columns[0]?.cells.length ?? 0;
  return Array.from({ length: height }, (_, row) => {
    const cells = columns.map(({ cells, width }) => shortened(cells[row] ?? "", width));
    return `${cells.join(GAP).trimEnd()}\n`;
  }).join("");
}

/** Ends in `..` where it was cut. */
function shortened(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 2)}..` : text.padEnd(width);
}

/** `  name        value` lines; several lines of a value stand below each other. */
export function formatFields(fields: readonly (readonly [string, string])[], terminal: Terminal): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => {
      const lines = value.split("\n").map((line) => fitted(terminal, line, width + 4));
      return `  ${name.padEnd(width)}  ${lines.join("").slice(width + 4)}`;
    })
    .join("");
}
