/** Sets of characters in the syntax of Go's package regexp: classes in brackets, classes with names, escapes. */

export class RegexpFault extends Error {}

/** Reads an expression from left to right. */
export class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get ended(): boolean {
    return this.#at >= this.#text.length;
  }

  /** What the pattern, a sticky one, matches here; it is read then. */
  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text) ?? undefined;
    if (found !== undefined) this.#at = pattern.lastIndex;
    return found;
  }
}

export type Test = (one: string) => boolean;

/** Members of a JavaScript class in brackets. */
const NAMED: Readonly<Record<string, string>> = {
  ...{ alnum: "0-9A-Za-z", alpha: "A-Za-z", ascii: "\\0-\\x7f", blank: "\\t ", cntrl: "\\0-\\x1f\\x7f", digit: "0-9" },
  ...{ graph: "!-~", lower: "a-z", print: " -~", punct: "!-\\/:-@\\[-`\\{-~", space: "\\t-\\r ", upper: "A-Z" },
  ...{ word: "0-9A-Za-z_", xdigit: "0-9A-Fa-f", d: "0-9", s: "\\t\\n\\f\\r ", w: "0-9A-Za-z_" },
};

const CONTROLS: Readonly<Record<string, number>> = { a: 7, t: 9, n: 10, v: 11, f: 12, r: 13 };
const LAST_CHARACTER = 0x10ffff;

/** A class in brackets after its opening one. `fold`: the case of letters does not matter. */
export function readClass(reader: Reader, fold: boolean): Test {
  const negated = reader.take(/\^/y) !== undefined;
  const tests: Test[] = [];
  for (let first = true; first || !reader.take(/\]/y); first = false) {
    tests.push(readNamed(reader, fold) ?? readPosix(reader, fold) ?? readRange(reader, fold));
  }
  return (one) => tests.some((test) => test(one)) !== negated;
}

/** \d, \pL, \P{Greek} and so on; undefined when there is none. */
export function readNamed(reader: Reader, fold: boolean): Test | undefined {
  const perl = reader.take(/\\([dsw])/iy)?.[1];
  if (perl !== undefined) return members(NAMED[perl.toLowerCase()] ?? "", fold, perl < "a");
  const found = reader.take(/\\([pP])(?:\{(\^?)([^}]*)\}|([^{]))/uy);
  if (found === undefined) return undefined;
  const [whole, kind, not = "", long, short = ""] = found;
  return members(propertyOf(long ?? short, whole), fold, (kind === "P") !== (not === "^"));
}

/** A character that stands for itself or is escaped; its number. */
export function readCharacter(reader: Reader): number {
  const plain = reader.take(/[^\\]/uy)?.[0];
  if (plain !== undefined) return plain.codePointAt(0) ?? 0;
  const octal = reader.take(/\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/y)?.[1];
  if (octal !== undefined) return Number.parseInt(octal, 8);
  const hexadecimal = reader.take(/\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))/y);
  if (hexadecimal !== undefined) {
    const number = Number.parseInt(hexadecimal[1] ?? hexadecimal[2] ?? "", 16);
    if (number <= LAST_CHARACTER) return number;
    throw new RegexpFault(`unknown ${hexadecimal[0]}`);
  }
  const control = reader.take(/\\([atnvfr])/y)?.[1];
  if (control !== undefined) return CONTROLS[control] ?? 0;
  // Any of ASCII but letters and digits.
  const punctuation = reader.take(/\\([\0-/:-@[-`{-\x7f])/y)?.[1];
  if (punctuation !== undefined) return punctuation.charCodeAt(0);
  const unknown = reader.take(/\\./uy)?.[0];
  throw new RegexpFault(unknown === undefined ? "it ends in a backslash or within brackets" : `unknown ${unknown}`);
}

/** `fold`: also the other cases of the letters from `first` to `last`. */
export function range(first: number, last: number, fold: boolean): Test {
  if (fold) return members(`\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`, fold, false);
  return (one) => {
    const code = one.codePointAt(0) ?? 0;
    return first <= code && code <= last;
  };
}

function readPosix(reader: Reader, fold: boolean): Test | undefined {
  const found = reader.take(/\[:(.*?):\]/y);
  if (found === undefined) return undefined;
  const [whole, text = ""] = found;
  const name = text.replace("^", "");
  const named = name.length > 1 ? NAMED[name] : undefined;
  if (named === undefined) throw new RegexpFault(`unknown class ${whole}`);
  return members(named, fold, text.startsWith("^"));
}

function readRange(reader: Reader, fold: boolean): Test {
  const first = readCharacter(reader);
  const last = reader.take(/-(?!\]|$)/y) === undefined ? first : readCharacter(reader);
  if (first > last) throw new RegexpFault("a range of characters ends before it begins");
  return range(first, last, fold);
}

function propertyOf(name: string, shown: string): string {
  if (name === "Any") return `\\0-\\u{${LAST_CHARACTER.toString(16)}}`;
  for (const property of [`\\p{gc=${name}}`, `\\p{sc=${name}}`]) {
    if (/^\w+$/.test(name) && isClass(property)) return property;
  }
  throw new RegexpFault(`unknown ${shown}`);
}

function isClass(source: string): boolean {
  try {
    return new RegExp(source, "u") !== undefined;
  } catch {
    return false;
  }
}

function members(source: string, fold: boolean, negated: boolean): Test {
  const pattern = new RegExp(`[${source}]`, fold ? "iu" : "u");
  return (one) => pattern.test(one) !== negated;
}
