import { readFile } from "node:fs/promises";
import path from "node:path";
import { transform } from "esbuild";

const WIDE = /[^\p{ASCII}]+/u;
const ALL_WIDE = /[^\p{ASCII}]/gu;
const COMMENT = /^\s*(\/\/|\/?\*)/;

/**
 * A bundle that V8 keeps in one byte a character: with one character beyond Latin-1 it keeps the whole file in two. esbuild has
 * escaped those of strings and names, and a question mark takes the place of those in comments. What is left, as in a regular
 * expression, can't be replaced: throws with its place in `sources`, which are relative to `root`.
 */
export async function oneByte(text: string, sources: readonly string[], root: string): Promise<Buffer> {
  if (!WIDE.test(text)) return Buffer.from(text);
  const { code } = await transform(text, { minifyWhitespace: true, legalComments: "none", charset: "ascii" });
  const [wide] = WIDE.exec(code) ?? [];
  if (wide === undefined) return Buffer.from(text.replaceAll(ALL_WIDE, "?"));
  throw new Error(
    `${await placeOf(wide, sources, root)}: "${wide}" is outside of strings and comments. Bundles are ASCII: write it as ${escaped(wide)}.`,
  );
}

async function placeOf(wide: string, sources: readonly string[], root: string): Promise<string> {
  for (const source of sources) {
    const lines = (await readFile(path.join(root, source), "utf8").catch(() => "")).split("\n");
    const line = lines.findIndex((one) => one.includes(wide) && !COMMENT.test(one));
    if (line >= 0) return `${source}:${line + 1}`;
  }
  return `One of ${sources.join(", ")}`;
}

/** By UTF-16 units, as every regular expression and template takes them. */
const escaped = (wide: string): string =>
  wide.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
