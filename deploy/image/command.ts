/** Programs that the builder runs. */

import { type Ran, runCommand } from "../../cni-plugins/build/command.ts";
import { saysFull } from "../../cni-plugins/build/unwritable.ts";
import { ImageError } from "./image-error.ts";

const TIMEOUT_MS = 300_000;

/** Throws an ImageError that names `install` where the program is missing. */
export async function run(
  command: string,
  args: readonly string[],
  { install, ...where }: { readonly cwd: string; readonly install: string; readonly stdin?: string },
): Promise<Ran> {
  // What they complain about is read here, so it has to be English.
  const env = { ...process.env, LC_ALL: "C" };
  try {
    return await runCommand(command, args, { ...where, env, timeoutMs: TIMEOUT_MS });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new ImageError(`${command} was not found: install ${install}`);
  }
}

/** The line of a program's complaint that says most. */
export function lastLine({ code, stderr, stdout }: Ran): string {
  const lines = (stderr.trim() || stdout.trim()).split("\n");
  const line = lines.find(saysFull) ?? lines.at(-1) ?? "";
  if (line !== "") return line;
  return code === null ? `it did not end within ${TIMEOUT_MS / 60_000} minutes` : "no reason given";
}
