/** RFC 4180, with a header line. */
export function toCsv(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

/** Spreadsheets run text that begins so as a formula, and tenants choose names of interfaces and networks. */
const FORMULA = /^[=+\-@\t\r]/;

function field(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
