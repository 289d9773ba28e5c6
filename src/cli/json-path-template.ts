/**
 * `-o jsonpath=TEMPLATE`, as kubectl has it: https://kubernetes.io/docs/reference/kubectl/jsonpath. What kubectl takes and
 * this does not is refused. As in kubectl, an index that is not there is an error, and a field that is not there is nothing.
 */

import { CliError } from "./faults.ts";

export type JsonPathTemplate = (value: unknown) => string;

type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "path"; readonly path: Path }
  | { readonly kind: "range"; readonly path: Path; readonly parts: readonly Part[] };

/** From some values to those that a path leads to from each. */
type Path = (values: readonly unknown[]) => readonly unknown[];

const QUOTES = /"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/.source;
/** Text, or an expression in braces: in it, braces count only outside quotes. */
const TEMPLATE = new RegExp(`([^{]+)|\\{((?:${QUOTES}|[^}"'])*)\\}`, "gy");
const QUOTED = /^(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')$/;
/** `..`, `.*`, `.name` and `name` after `..`, `[?(...)]` and `[...]` */
const SEGMENT = new RegExp(
  String.raw`(\.\.)|\.(\*)|(?:\.|(?<=\.\.))((?:\\.|[\w/-])+)|\.?\[(\?\((?:${QUOTES}|[^"'])*?\)|(?:${QUOTES}|[^\]"'])*)\]`,
  "gy",
);
const INDEX = /^-?\d+$/;
const SLICE = /^(-?\d*):(-?\d*)(?::([1-9]\d*))?$/;
const NAME = /^'((?:\\.|[^'\\])*)'$/;
const OPERAND = /@[\w.[\]'\\/-]*|"[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false/.source;
const FILTER = new RegExp(`^\\?\\(\\s*(${OPERAND})(?:\\s*([=!<>]=|[<>])\\s*(${OPERAND}))?\\s*\\)$`);
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** Throws an error whose message is a sentence for the user, for what is no template. */
export function parseJsonPathTemplate(template: string): JsonPathTemplate {
  const open: { readonly path: Path; readonly parts: Part[] }[] = [{ path: (values) => values, parts: [] }];
  const add = (part: Part): unknown => open.at(-1)?.parts.push(part);
  for (const [, text, expression] of matches(template, TEMPLATE, template)) {
    const inside = expression?.trim() ?? "";
    const [, ...quoted] = QUOTED.exec(inside) ?? [];
    const [, ranged] = /^range\s+(.+)$/s.exec(inside) ?? [];
    if (text !== undefined) add({ kind: "text", text });
    else if (quoted.length > 0) add({ kind: "text", text: unescaped(quoted[0] ?? quoted[1] ?? "") });
    else if (ranged !== undefined) open.push({ path: pathOf(ranged, template), parts: [] });
    else if (inside === "end") {
      const range = open.length > 1 ? open.pop() : undefined;
      if (range === undefined) throw noTemplate(template, "{end} has no {range}");
      add({ kind: "range", ...range });
    } else add({ kind: "path", path: pathOf(inside, template) });
  }
  if (open.length > 1) throw noTemplate(template, "{range} has no {end}");
  const [{ parts } = { parts: [] }] = open;
  /** Of what `-o json` prints: fields without a value are not there. */
  return (value) => {
    try {
      return printed(parts, JSON.parse(JSON.stringify(value)));
    } catch (error) {
      if (!(error instanceof NoElement)) throw error;
      throw new CliError(`jsonpath ${JSON.stringify(template)}: ${error.message}`, { cause: error });
    }
  };
}

function printed(parts: readonly Part[], value: unknown): string {
  const texts = parts.map((part) => {
    if (part.kind === "text") return part.text;
    const found = part.path([value]);
    if (part.kind === "path") return found.map(textOf).join(" ");
    return found.map((each) => printed(part.parts, each)).join("");
  });
  return texts.join("");
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function pathOf(expression: string, template: string): Path {
  const segments = matches(expression.replace(/^[$@]/, ""), SEGMENT, template);
  const steps = segments.map(([, descent, all, name, subscript]) => {
    if (name !== undefined) return each((value) => fieldOf(value, unescaped(name)));
    if (subscript !== undefined) return subscripted(subscript.trim(), template);
    return each(descent === undefined || all !== undefined ? childrenOf : withDescendants);
  });
  return (values) => steps.reduce((found, step) => step(found), values);
}

/** What stands between brackets. */
function subscripted(text: string, template: string): Path {
  const [, left, operator, right] = FILTER.exec(text) ?? [];
  if (left !== undefined) return filtered(operandOf(left, template), operator, operandOf(right ?? "true", template));
  const elements = text.split(/,\s*(?=(?:[^']|'[^']*')*$)/).map((element) => elementOf(element, template));
  return (values) => elements.flatMap((element) => element(values));
}

function elementOf(text: string, template: string): Path {
  if (text === "*") return each(childrenOf);
  if (INDEX.test(text)) return elementsOf({ start: Number(text), end: Number(text) + 1, isIndex: true, step: 1 });
  const [slice, start, end, step = 1] = SLICE.exec(text) ?? [];
  if (slice !== undefined) {
    const to = end === "" ? undefined : Number(end);
    return elementsOf({ start: Number(start), end: to, isIndex: false, step: Number(step) });
  }
  const [, name] = NAME.exec(text) ?? [];
  if (name !== undefined) return pathOf(`.${name}`, template);
  throw noTemplate(template, `[${text}] is none of *, 0, -1, 1:3, 'name', 'a','b' and ?(@.name=="value")`);
}

/** Without an operator: what has the left side at all. */
function filtered(left: Path, operator: string | undefined, right: Path): Path {
  const keeps = (value: unknown): boolean => {
    if (operator === undefined) return exists(left, value);
    const [found, compared] = [left([value]), right([value])];
    return found.length === 1 && compared.length === 1 && holds(found[0], operator, compared[0]);
  };
  return each((value) => (Array.isArray(value) ? value.filter(keeps) : []));
}

/** kubectl takes an element that is not there for one that is. */
function exists(path: Path, value: unknown): boolean {
  try {
    return path([value]).length > 0;
  } catch (error) {
    if (error instanceof NoElement) return true;
    throw error;
  }
}

function operandOf(text: string, template: string): Path {
  if (text.startsWith("@")) return pathOf(text, template);
  const [, ...quoted] = QUOTED.exec(text) ?? [];
  const constant: unknown = quoted.length > 0 ? (quoted[0] ?? quoted[1]) : JSON.parse(text);
  return () => [constant];
}

function holds(left: unknown, operator: string, right: unknown): boolean {
  if (operator === "==") return left === right;
  if (operator === "!=") return left !== right;
  const areNumbers = typeof left === "number" && typeof right === "number";
  if (!areNumbers && !(typeof left === "string" && typeof right === "string")) return false;
  if (left === right) return operator.endsWith("=");
  return operator.startsWith("<") ? left < right : left > right;
}

const each =
  (found: (value: unknown) => readonly unknown[]): Path =>
  (values) =>
    values.flatMap(found);

const fieldOf = (value: unknown, name: string): unknown[] =>
  isObject(value) && !Array.isArray(value) && Object.hasOwn(value, name) ? [value[name]] : [];

interface Slice {
  readonly start: number;
  /** Behind the last one; undefined: the length of the list. */
  readonly end: number | undefined;
  /** One element: of the last one, `end` is 0. */
  readonly isIndex: boolean;
  readonly step: number;
}

/** A list does not have the elements that the template asks for. */
class NoElement extends Error {
  override readonly name = "NoElement";
}

/** In kubectl's words. As there, an empty slice is the end of what is looked at. */
function elementsOf({ start, end, isIndex, step }: Slice): Path {
  return (values) => {
    const found: unknown[] = [];
    for (const value of values) {
      if (value === null) continue;
      if (!Array.isArray(value)) throw new NoElement(`${shortOf(value)} is not array or slice`);
      const { length } = value;
      const from = start < 0 ? start + length : start;
      const given = end ?? length;
      const to = given < 0 || (given === 0 && isIndex) ? given + length : given;
      if (from === to) return found;
      const outside = [from, to - 1].find((index) => index >= length || index < 0);
      if (outside !== undefined) throw new NoElement(`array index out of bounds: index ${outside}, length ${length}`);
      if (from > to) throw new NoElement(`starting index ${from} is greater than ending index ${to}`);
      found.push(...value.slice(from, to).filter((_, index) => index % step === 0));
    }
    return found;
  };
}

const MAX_SHOWN = 40;

const shortOf = (value: unknown): string => textOf(value).slice(0, MAX_SHOWN);

const childrenOf = (value: unknown): unknown[] => (isObject(value) ? Object.values(value) : []);

const withDescendants = (value: unknown): unknown[] => [value, ...childrenOf(value).flatMap(withDescendants)];

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const unescaped = (text: string): string => text.replaceAll(/\\(.)/g, (_, each: string) => ESCAPES[each] ?? each);

/** All of the text, match by match. */
function matches(text: string, pattern: RegExp, template: string): RegExpExecArray[] {
  const found = [...text.matchAll(pattern)];
  const end = found.reduce((length, [all]) => length + all.length, 0);
  if (end < text.length) throw noTemplate(template, `it is not understood from ${JSON.stringify(text.slice(end))} on`);
  return found;
}

function noTemplate(template: string, why: string): Error {
  return new Error(`${JSON.stringify(template)} is not a JSONPath template of kubectl: ${why}`);
}
