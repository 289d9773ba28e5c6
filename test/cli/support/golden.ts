/** Golden outputs of the command line. They are written anew with `vitest run --project unit test/cli -u`. */
import { join } from "node:path";
import type { Terminal } from "../../../src/cli/terminal.ts";
import { type Ended, NARROW, PIPE, TINY, WIDE } from "./macpool.ts";

/** The goldens tell times in UTC. */
process.env.TZ = "UTC";

export const TERMINALS: Readonly<Record<string, Terminal>> = {
  "160 columns, colour": WIDE,
  "80 columns": NARROW,
  "48 columns, ASCII": TINY,
  pipe: PIPE,
};

export function goldenPath(name: string): string {
  return join(import.meta.dirname, "../../golden/cli", `${name}.txt`);
}

/** A command and what it said, with escape characters in words. `terminal`: the name of one. */
export function transcript(argv: readonly string[], terminal: string, { stdout, stderr, exitCode }: Ended): string {
  const errors = stderr === "" ? "" : `[stderr]\n${stderr}`;
  const said = `${stdout.replaceAll("\u001b", "<ESC>")}${errors}[exit ${exitCode}]\n\n`;
  return `$ kubectl macpool ${argv.join(" ")}   (${terminal})\n${said}`;
}

/** The transcripts of one command on every kind of terminal. */
export async function onEveryTerminal(
  argv: readonly string[],
  run: (terminal: Terminal) => Promise<Ended>,
): Promise<string> {
  const texts: string[] = [];
  for (const [name, terminal] of Object.entries(TERMINALS)) texts.push(transcript(argv, name, await run(terminal)));
  return texts.join("");
}
