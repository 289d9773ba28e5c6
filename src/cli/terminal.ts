/** What the output goes to, and the marks that depend on it. */

export interface Terminal {
  /** Characters of a line; undefined for a pipe or a file, where nothing is shortened. */
  readonly columns: number | undefined;
  readonly colour: boolean;
  /** Whether characters beyond ASCII can be shown. */
  readonly unicode: boolean;
}

export interface OutputStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

const MIN_COLUMNS = 20;

/** Colour only on a terminal and without NO_COLOR (no-color.org); UTF-8 by the locale, as in setlocale(3). */
export function terminalOf(stdout: OutputStream, env: Environment): Terminal {
  const isTerminal = stdout.isTTY === true;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return {
    columns: isTerminal ? Math.max(MIN_COLUMNS, stdout.columns ?? 80) : undefined,
    colour: isTerminal && !env.NO_COLOR && env.TERM !== "dumb",
    unicode: /utf-?8/i.test(locale),
  };
}

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35 } as const;
export type Colour = keyof typeof CODES;

/** The text in a colour, or as it is. */
export function painted({ colour }: Terminal, name: Colour, text: string): string {
  return colour && text !== "" ? `\u001b[${CODES[name]}m${text}\u001b[0m` : text;
}

/** `[####------]`: a share from 0 to 1. Anything above 0 shows, anything below 1 leaves room. */
export function bar({ unicode }: Terminal, share: number, width: number): string {
  const exact = Math.round(share * width);
  const filled = share >= 1 ? width : Math.min(width - 1, share > 0 ? Math.max(1, exact) : 0);
  const [full, empty] = unicode ? ["█", "░"] : ["#", "-"];
  return `[${full.repeat(filled)}${empty.repeat(width - filled)}]`;
}

/** From here on, a text stands beside its head. */
const WIDE_ENOUGH = 72;
/** Of a text below its head. */
const NARROW_INDENT = 4;

/** Texts from column `indent` on, the first in the line of its head, or below it on a narrow terminal. `width`: of the head, as shown. */
export function beside(
  terminal: Terminal,
  head: { readonly text: string; readonly width: number },
  texts: readonly string[],
  indent: number,
): string {
  if ((terminal.columns ?? WIDE_ENOUGH) < WIDE_ENOUGH) {
    return `${head.text}\n${texts.map((text) => wrapped(terminal, text, NARROW_INDENT)).join("")}`;
  }
  const lines = texts.map((text) => wrapped(terminal, text, indent)).join("");
  return `${head.text}${" ".repeat(Math.max(1, indent - head.width))}${lines.trimStart()}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a colour begins with.
const PAINT = /\u001b\[\d+m/g;

/** The line as it is where the terminal has room for it after `indent` spaces, else as `wrapped` has it. */
export function fitted(terminal: Pick<Terminal, "columns">, line: string, indent: number): string {
  const width = indent + line.replace(PAINT, "").length;
  if (width <= (terminal.columns ?? width)) return `${" ".repeat(indent)}${line}\n`;
  return wrapped(terminal, line, indent);
}

/** The text in lines of the terminal, each after `indent` spaces; a word that is longer keeps its line. */
export function wrapped({ columns }: Pick<Terminal, "columns">, text: string, indent: number): string {
  const margin = " ".repeat(indent);
  if (columns === undefined) return `${margin}${text}\n`;
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && indent + line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line].map((one) => `${margin}${one}\n`).join("");
}
