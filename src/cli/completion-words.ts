import type { CommandSpec } from "./command.ts";
import { GLOBAL_OPTIONS, type OptionSpec } from "./command-line.ts";

/**
 * What may follow a command line, for the completion scripts. The form is cobra's, which kubectl asks plugins for too: one
 * word a line, with its description after a tab, and a last line with the directive.
 */

/** cobra's ShellCompDirectiveNoFileComp: no names of files. */
const NO_FILES = 4;
const FILES = 0;
/** Options whose value is a file. */
const FILE_OPTIONS = ["kubeconfig", "filename"];

type Word = readonly [word: string, description: string];

/** `words`: those before the cursor; the last is the one at it, perhaps empty. */
export function completions(words: readonly string[], commands: readonly CommandSpec[]): string {
  const current = words.at(-1) ?? "";
  const before = words.slice(0, -1);
  const spec = commands.find(({ name }) => before.includes(name));
  const options = [...(spec?.options ?? []), ...GLOBAL_OPTIONS];
  const asked = optionAt(before.at(-1) ?? "", options);
  if (asked?.value !== undefined) return answer(asked.words?.map((word) => [word, ""]) ?? [], current, asked);
  if (current.startsWith("-"))
    return answer(
      options.map((option) => [`--${option.name}`, option.summary]),
      current,
    );
  if (spec === undefined) return answer([...commands.map(wordOf), ["version", "version of this program"]], current);
  return answer(spec.words?.map((word) => [word, ""]) ?? [], current);
}

function wordOf({ name, summary }: CommandSpec): Word {
  return [name, summary];
}

function optionAt(word: string, options: readonly OptionSpec[]): OptionSpec | undefined {
  return options.find(({ name, short }) => word === `--${name}` || (short !== undefined && word === `-${short}`));
}

function answer(words: readonly Word[], current: string, option?: OptionSpec): string {
  const lines = words
    .filter(([word]) => word.startsWith(current))
    .map(([word, description]) => (description === "" ? `${word}\n` : `${word}\t${description}\n`));
  const directive = option !== undefined && FILE_OPTIONS.includes(option.name) ? FILES : NO_FILES;
  return `${lines.join("")}:${directive}\n`;
}
