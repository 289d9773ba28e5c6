/**
 * A page of the guide as its reader follows it. The word behind the language of a block says who runs it:
 *
 *     ```sh               the administrator
 *     ```sh node-a        root on that node
 *     ```sh as-shop/anna  that service account
 *     ```sh elsewhere     nobody here: it needs what the cluster of the test has not
 *
 * A block of `sh` runs as one script. In a block of `console` each line with `$` is a command, and what stands below it is what it
 * prints: addresses, times and generated names may differ. `...` at the end of a line stands for the rest of it, and as a line for any
 * lines.
 */

export interface Block {
  readonly language: string;
  readonly who: string;
  readonly text: string;
}

/** A command of a console, and what it prints. */
export interface Shown {
  readonly command: string;
  readonly output: string;
}

export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w*)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(
    ([, language = "", who = "administrator", text = ""]) => ({ language, who, text }),
  );
}

export function shownIn(console: string): Shown[] {
  return console
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...lines] = part.split("\n");
      return { command, output: lines.join("\n").trim() };
    });
}

/** Pages that the index links to, in its order. */
export const pagesIn = (index: string): string[] =>
  [...index.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, page = ""]) => page);

const VARIES: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b/g, "MAC"],
  [/\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\dZ?/g, "TIME"],
  [/\b(virt-launcher-[\w-]+)-\w{5}\b/g, "$1-ID"],
  [/\b\d+ (?:second|minute)s?\b/g, "AGE"],
  [/[ \t]+/g, " "],
];

const common = (text: string): string =>
  VARIES.reduce((rest, [pattern, name]) => rest.replace(pattern, name), text)
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .trim();

const escaped = (line: string): string => line.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function patternOf(line: string): string {
  if (line === "...") return "(?:.*\n)*?.*";
  return line.endsWith("...") ? `${escaped(line.slice(0, -3).trimEnd())}.*` : escaped(line);
}

/** Whether a reader would say that the command prints what the page shows. */
export function isAsShown(shown: string, printed: string): boolean {
  const pattern = common(shown).split("\n").map(patternOf).join("\n");
  return new RegExp(`^${pattern}$`).test(common(printed));
}
