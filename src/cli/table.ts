/** Columns as kubectl prints them: left-aligned, three spaces apart, as wide as their longest cell. */

const GAP = "   ";

export interface Column<T> {
  readonly header: string;
  readonly cell: (row: T) => string;
}

export function formatTable<T>(columns: readonly Column<T>[], rows: readonly T[], noHeaders: boolean): string {
  const lines = rows.map((row) => columns.map(({ cell }) => cell(row) || "-"));
  if (!noHeaders) lines.unshift(columns.map(({ header }) => header));
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join("");
}

/** `  name        value` lines; several lines of a value stand below each other. */
export function formatFields(fields: readonly (readonly [string, string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(([name, value]) => `  ${name.padEnd(width)}  ${value.replaceAll("\n", `\n  ${" ".repeat(width)}  `)}\n`)
    .join("");
}
