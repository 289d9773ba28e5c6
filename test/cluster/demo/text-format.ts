/**
 * How the demo's lines format: pure text. 80 columns are enough, a terminal that is not UTF-8 gets ASCII, and colour is
 * only for terminals.
 */

export interface TextFormat {
  readonly columns: number;
  readonly utf8: boolean;
  readonly color: boolean;
}

/** One finished thing: `label` on the left, `text` wrapped in the middle, `status` and the time on the right. */
export interface Entry {
  readonly label: string;
  readonly text: string;
  readonly details?: readonly string[];
  /** What a command printed, in the whole width. */
  readonly output?: readonly string[];
  readonly status: string;
  readonly good: boolean;
  readonly ms?: number;
}

const LABEL_COLUMNS = 17;
const STATUS_COLUMNS = 15;
const TIME_COLUMNS = 8;
const BAR_COLUMNS = 13;
const MIN_COLUMNS = 60;
const MAX_COLUMNS = 110;
const DETAIL_INDENT = 2;
const OUTPUT_INDENT = 4;

/** A space that no line is broken at. */
export const KEPT = "\u00a0";

const ASCII: ReadonlyMap<string, string> = new Map([
  ["→", "->"],
  ["↔", "<->"],
  ["…", "..."],
  ["–", "-"],
  ["•", "*"],
  ["✓", "ok"],
  ["✗", "FAILED"],
]);

/** What the environment and the stream say; `isTty` alone does not make colour: NO_COLOR and TERM=dumb forbid it. */
export function textFormatOf(
  env: Readonly<Record<string, string | undefined>>,
  stream: { readonly isTTY?: boolean; readonly columns?: number },
): TextFormat {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return {
    columns: Math.min(MAX_COLUMNS, Math.max(MIN_COLUMNS, stream.columns ?? 80)),
    utf8: /utf-?8/i.test(locale),
    color: stream.isTTY === true && env.NO_COLOR === undefined && env.TERM !== "dumb",
  };
}

/** The text with every character the terminal can show. */
export function shown(text: string, format: TextFormat): string {
  if (format.utf8) return text;
  return Array.from(text, (char) => (char.charCodeAt(0) < 128 || char === KEPT ? char : (ASCII.get(char) ?? "?"))).join(
    "",
  );
}

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** `[=====>    ]`, `width` characters in all. */
export function progressBar(fraction: number, width: number): string {
  const inner = Math.max(1, width - 2);
  const done = Math.round(Math.min(1, Math.max(0, fraction)) * inner);
  const bar = done === 0 ? "" : done === inner ? "=".repeat(inner) : `${"=".repeat(done - 1)}>`;
  return `[${bar.padEnd(inner)}]`;
}

/** `text` in lines of at most `width`, its own line ends kept; a word longer than that is cut. */
export function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => wrapLine(line, width));
}

function wrapLine(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    for (let rest = word; ; rest = rest.slice(width)) {
      const piece = rest.slice(0, width);
      if (line !== "" && line.length + 1 + piece.length > width) {
        lines.push(line);
        line = piece;
      } else {
        line = line === "" ? piece : `${line} ${piece}`;
      }
      if (rest.length <= width) break;
    }
  }
  return [...lines, line].map((each) => each.replaceAll(KEPT, " ").trimEnd());
}

export function renderEntry(entry: Entry, format: TextFormat): string[] {
  const status = rightAligned(entry);
  const width = format.columns - LABEL_COLUMNS - STATUS_COLUMNS - 1;
  const [first = "", ...more] = wrap(shown(entry.text, format), width);
  const label = shown(entry.label, format).padEnd(LABEL_COLUMNS);
  const lines = [`${bold(label, format)}${first.padEnd(width)} ${paint(status, entry.good, format)}`];
  const indent = " ".repeat(LABEL_COLUMNS);
  for (const line of more) lines.push(indent + line);
  const detailWidth = format.columns - LABEL_COLUMNS;
  for (const detail of entry.details ?? []) {
    for (const [index, line] of wrap(shown(detail, format), detailWidth - DETAIL_INDENT).entries()) {
      lines.push(indent + (index === 0 ? "" : " ".repeat(DETAIL_INDENT)) + line);
    }
  }
  const outputWidth = format.columns - OUTPUT_INDENT;
  for (const line of entry.output ?? []) {
    for (const part of broken(shown(line, format), outputWidth)) lines.push(" ".repeat(OUTPUT_INDENT) + part);
  }
  return lines.map((line) => line.trimEnd());
}

/** Keeps the columns of what fits; a longer line is broken at spaces, and its rest goes under its own indentation. */
function broken(line: string, width: number): string[] {
  if (line.length <= width) return [line];
  const indent = " ".repeat(line.length - line.trimStart().length + DETAIL_INDENT);
  const space = line.lastIndexOf(" ", width);
  const end = space > indent.length ? space : width;
  return [line.slice(0, end), ...broken(indent + line.slice(end).trimStart(), width)];
}

function rightAligned(entry: Entry): string {
  const time = entry.ms === undefined ? "" : duration(entry.ms);
  return `${entry.status.padEnd(STATUS_COLUMNS - TIME_COLUMNS)}${time.padStart(TIME_COLUMNS)}`;
}

/** One line for something under way, cut to the terminal's width so that it can be overwritten. */
export function renderProgress(label: string, text: string, fraction: number | undefined, format: TextFormat): string {
  const bar = fraction === undefined ? "" : ` ${progressBar(fraction, BAR_COLUMNS)} ${Math.floor(fraction * 100)}%`;
  const room = format.columns - 1 - LABEL_COLUMNS - bar.length;
  const words = shown(text, format);
  const cut = words.length <= room ? words : `${words.slice(0, Math.max(0, room - 3))}...`;
  return `${shown(label, format).padEnd(LABEL_COLUMNS)}${cut}${bar}`;
}

const bold = (text: string, format: TextFormat): string => (format.color ? `\u001b[1m${text}\u001b[22m` : text);

const paint = (text: string, good: boolean, format: TextFormat): string =>
  format.color ? `\u001b[${good ? 32 : 31}m${text}\u001b[39m` : text;
