/**
 * Regular expressions in the syntax of Go's package regexp (RE2), which JavaScript's differs from in what an administrator
 * may have written: (?i), [[:alpha:]], \A, \z, \Q...\E and more, and in what it refuses: lookahead, backreferences.
 */

import { character, either, type Matcher, matchesSomewhere, repeated, sequence, where } from "./position-matcher.ts";
import { Reader, RegexpFault, range, readCharacter, readClass, readNamed } from "./regexp-characters.ts";

/** Go's own limit, also for the product of repetitions within each other. */
const REPETITIONS_MAX = 1000;
const GROUPS_WITHIN_EACH_OTHER_MAX = 200;

interface Piece {
  readonly matcher: Matcher;
  /** How often it repeats the innermost one that it is made of, by counts. */
  readonly repetitions: number;
}

interface Flags {
  readonly i: boolean;
  readonly m: boolean;
  readonly s: boolean;
}

/** Whether a text has a match of the expression in it. Throws a `RegexpFault`. */
export function goRegexp(source: string): (text: string) => boolean {
  const { matcher } = new Parser(source).whole();
  return (text) => matchesSomewhere(matcher, text);
}

class Parser {
  readonly #reader: Reader;
  #flags: Flags = { i: false, m: false, s: false };
  #depth = 0;

  constructor(source: string) {
    this.#reader = new Reader(source);
  }

  whole(): Piece {
    const piece = this.#alternatives();
    if (this.#reader.ended) return piece;
    throw new RegexpFault("a parenthesis is closed that was not opened");
  }

  #alternatives(): Piece {
    const ways = [this.#sequence()];
    while (this.#reader.take(/\|/y)) ways.push(this.#sequence());
    return { matcher: either(ways.map(({ matcher }) => matcher)), repetitions: repetitionsOf(ways) };
  }

  #sequence(): Piece {
    const pieces: Piece[] = [];
    let afterRepetition = false;
    while (!this.#reader.ended && !this.#reader.take(/(?=[|)])/y)) {
      const bounds = this.#repetition();
      if (bounds === undefined) pieces.push(...this.#pieces());
      else if (afterRepetition) throw new RegexpFault("two repetitions follow each other");
      else pieces.push(repeatedPiece(pieces.pop(), bounds));
      afterRepetition = bounds !== undefined;
    }
    return { matcher: sequence(pieces.map(({ matcher }) => matcher)), repetitions: repetitionsOf(pieces) };
  }

  /** Whether it prefers more or fewer is the same for one who asks only whether there is a match. */
  #repetition(): readonly [number, number] | undefined {
    const found = this.#reader.take(/(?:([*+?])|\{(0|[1-9]\d*)(?:(,)(0|[1-9]\d*)?)?\})\??/y);
    if (found === undefined) return undefined;
    const [, sign, least, comma, most] = found;
    if (sign !== undefined) return [sign === "+" ? 1 : 0, sign === "?" ? 1 : Number.POSITIVE_INFINITY];
    if (comma === undefined) return [Number(least), Number(least)];
    return [Number(least), most === undefined ? Number.POSITIVE_INFINITY : Number(most)];
  }

  /** None for what only changes the flags, several for quoted text. */
  #pieces(): Piece[] {
    const reader = this.#reader;
    const quoted = reader.take(/\\Q(.*?)(?:\\E|$)/sy)?.[1];
    if (quoted !== undefined) return [...quoted].map((one) => this.#literal(one.codePointAt(0) ?? 0));
    const open = reader.take(/\((?:\?(?:P?<\w+>|([imsU]*(?:-[imsU]+)?)([:)])))?/y);
    if (open !== undefined) return this.#group(open[1], open[2] === ")");
    if (reader.take(/\[/y)) return [piece(character(readClass(reader, this.#flags.i)))];
    const assertion = reader.take(/[\^$]|\\[AzbB]/y)?.[0];
    if (assertion !== undefined) return [piece(where(this.#assertion(assertion)))];
    const { s, i } = this.#flags;
    if (reader.take(/\./y)) return [piece(character((one) => s || one !== "\n"))];
    const named = readNamed(reader, i);
    return [named === undefined ? this.#literal(readCharacter(reader)) : piece(character(named))];
  }

  #literal(code: number): Piece {
    return piece(character(range(code, code, this.#flags.i)));
  }

  #group(flags: string | undefined, flagsAlone: boolean): Piece[] {
    const before = this.#flags;
    if (flags === undefined && this.#reader.take(/\?/y)) throw new RegexpFault("Go has no such group");
    if (flags !== undefined) this.#setFlags(flags);
    if (flagsAlone) return [];
    if (++this.#depth > GROUPS_WITHIN_EACH_OTHER_MAX) throw new RegexpFault("too many groups within each other");
    const inside = this.#alternatives();
    this.#depth--;
    if (!this.#reader.take(/\)/y)) throw new RegexpFault("a parenthesis is not closed");
    this.#flags = before;
    return [inside];
  }

  #setFlags(text: string): void {
    const [on = "", off = ""] = text.split("-");
    const flag = (name: keyof Flags) => (this.#flags[name] || on.includes(name)) && !off.includes(name);
    this.#flags = { i: flag("i"), m: flag("m"), s: flag("s") };
  }

  #assertion(sign: string): (text: readonly string[], at: number) => boolean {
    const { m } = this.#flags;
    if (sign === "^") return (text, at) => at === 0 || (m && text[at - 1] === "\n");
    if (sign === "$") return (text, at) => at === text.length || (m && text[at] === "\n");
    if (sign === "\\A") return (_, at) => at === 0;
    if (sign === "\\z") return (text, at) => at === text.length;
    const wanted = sign === "\\b";
    return (text, at) => (isWord(text[at - 1]) !== isWord(text[at])) === wanted;
  }
}

function piece(matcher: Matcher): Piece {
  return { matcher, repetitions: 1 };
}

function repetitionsOf(pieces: readonly Piece[]): number {
  return Math.max(1, ...pieces.map(({ repetitions }) => repetitions));
}

function repeatedPiece(one: Piece | undefined, [least, most]: readonly [number, number]): Piece {
  if (one === undefined) throw new RegexpFault("a repetition has nothing before it");
  const count = Math.max(1, most === Number.POSITIVE_INFINITY ? least : most);
  const repetitions = most === 0 ? 1 : count * one.repetitions;
  if (least > most || least > REPETITIONS_MAX || repetitions > REPETITIONS_MAX) {
    throw new RegexpFault(`repetitions must be ${REPETITIONS_MAX} at most, the lesser number first`);
  }
  return { matcher: repeated(one.matcher, least, most), repetitions };
}

function isWord(one: string | undefined): boolean {
  return one !== undefined && /^\w$/.test(one);
}
