import { JSONPath } from "jsonpath-plus";

/** `-o jsonpath=TEMPLATE`, as kubectl has it: https://kubernetes.io/docs/reference/kubectl/jsonpath. */

export type JsonPathTemplate = (value: unknown) => string;

type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "path"; readonly path: readonly string[] }
  | { readonly kind: "range"; readonly path: readonly string[]; readonly parts: readonly Part[] };

/** Text, or an expression in braces: in it, braces count only outside quotes. */
const TEMPLATE = /([^{]+)|\{((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^}"'])*)\}/gy;
const QUOTED = /^(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')$/;
/** `..`, `.name`, `.*`, `[...]` */
const SEGMENT =
  /(\.\.)|(?:\.|(?<=\.\.))(\*)|(?:\.|(?<=\.\.))((?:\\.|[\w/-])+)|\[((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^\]"'])*)\]|\.(?=\[)/gy;
/** `*`, `0`, `0,2`, `1:3`, `'a','b'` */
const ELEMENTS = /^(?:\*|-?\d*:-?\d*(?::\d+)?|[\w'"./\s-]+(?:,[\w'"./\s-]+)*)$/;
const OPERAND = /(?:@[\w.[\]/-]*|"[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false)/.source;
const FILTER = new RegExp(`^\\?\\(\\s*${OPERAND}(?:\\s*(?:[=!<>]=|[<>])\\s*${OPERAND})?\\s*\\)$`);
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** Throws an error whose message is a sentence for the user, for what is no template. */
export function parseJsonPathTemplate(template: string): JsonPathTemplate {
  const open: { readonly path: readonly string[]; readonly parts: Part[] }[] = [{ path: [], parts: [] }];
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
  return (value) => printed(parts, value);
}

function printed(parts: readonly Part[], value: unknown): string {
  const texts = parts.map((part) => {
    if (part.kind === "text") return part.text;
    const found = valuesAt(part.path, value);
    if (part.kind === "path") return found.map(textOf).join(" ");
    return found.map((each) => printed(part.parts, each)).join("");
  });
  return texts.join("");
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

function valuesAt(path: readonly string[], value: unknown): readonly unknown[] {
  if (path.length === 0) return [value];
  if (typeof value !== "object" || value === null) return [];
  return JSONPath({ path: ["$", ...path], json: value, wrap: true, ignoreEvalErrors: true });
}

/** A path of kubectl in the library's segments. */
function pathOf(expression: string, template: string): string[] {
  const path = expression.replace(/^[$@]/, "");
  return matches(path, SEGMENT, template).flatMap(([, descent, all, name, subscript]) => {
    if (name !== undefined) return [literal(name)];
    if (subscript !== undefined) return [subscripted(subscript.trim(), template)];
    return descent ?? all ?? [];
  });
}

/** What stands between brackets. */
function subscripted(text: string, template: string): string {
  if (QUOTED.test(text)) return literal(text.slice(1, -1));
  if (/^-\d+$/.test(text)) return `${text}:${text === "-1" ? "" : Number(text) + 1}`;
  if (FILTER.test(text)) return text;
  if (ELEMENTS.test(text)) return text.replaceAll(/["'\s]/g, "");
  throw noTemplate(template, `[${text}] is none of *, 0, -1, 1:3, 'name', 'a','b' and ?(@.name=="value")`);
}

/** The back-tick says to the library that the name means nothing else. */
const literal = (name: string): string => `\`${name.replaceAll(/\\(.)/g, "$1")}`;

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
