/** Flags of the scripts that build, release, try and measure. */

import { type ParseArgsConfig, parseArgs } from "node:util";
import { BuildError } from "./toolchain.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Values<T extends Options> = ReturnType<typeof parseArgs<{ options: T; tokens: true }>>["values"];

/**
 * Throws BuildError for what is no flag, or is given twice: nobody could say which of two values was meant. What is no flag goes to
 * `words`, if that is given.
 */
export function readFlags<const T extends Options>(
  options: T,
  { args = process.argv.slice(2), words }: { readonly args?: string[]; readonly words?: string[] } = {},
): Values<T> {
  const { values, tokens, positionals } = parse(options, args, words !== undefined);
  words?.push(...positionals);
  const names = tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new BuildError(`--${repeated} is given twice: give it once`);
  return values;
}

/** The same for a script that can do nothing else with such an error: says it, and exits with 2. */
export function flagsOrExit<const T extends Options>(options: T): Values<T> {
  try {
    return readFlags(options);
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}

function parse<const T extends Options>(options: T, args: string[], allowPositionals: boolean) {
  try {
    return parseArgs({ options, args, tokens: true, allowPositionals });
  } catch (error) {
    throw new BuildError((error as Error).message);
  }
}
