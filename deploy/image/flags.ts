/** Flags of the commands that build the image and write the release. */

import { type ParseArgsConfig, parseArgs } from "node:util";
import { ImageError } from "./image-error.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<T extends Options> = ReturnType<typeof parseArgs<{ options: T; tokens: true }>>;

/** Throws ImageError for what is no flag, or is given twice: nobody could say which of two values was meant. */
export function readFlags<const T extends Options>(options: T, args = process.argv.slice(2)): Parsed<T>["values"] {
  const { values, tokens } = parse(options, args);
  const names = tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []));
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) throw new ImageError(`--${repeated} is given twice: give it once`);
  return values;
}

function parse<const T extends Options>(options: T, args: string[]): Parsed<T> {
  try {
    return parseArgs({ options, args, tokens: true });
  } catch (error) {
    throw new ImageError((error as Error).message);
  }
}
