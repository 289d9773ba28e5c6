import { appendFile, chmod, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { shellQuote } from "../cluster/command.ts";

const PROGRAM = join(import.meta.dirname, "scripted-monitor.mjs");

export interface ScriptedMonitor {
  /** Path of an executable in place of `link-monitor`. */
  readonly command: string;
  /** An object is printed as JSON; a text is one of the commands of scripted-monitor.mjs. */
  say(...lines: readonly (object | string)[]): Promise<void>;
}

/** What the marker takes for the kernel. Its files are in a folder of their own in `directory`. */
export async function scriptedMonitor(directory: string): Promise<ScriptedMonitor> {
  const folder = await mkdtemp(join(directory, "monitor-"));
  const [command, file] = [join(folder, "link-monitor"), join(folder, "lines")];
  await writeFile(file, "");
  await writeFile(command, `#!/bin/sh\nexec ${[process.execPath, PROGRAM, file].map(shellQuote).join(" ")}\n`);
  await chmod(command, 0o755);
  const printed = (line: object | string): string => (typeof line === "string" ? line : JSON.stringify(line));
  return { command, say: (...lines) => appendFile(file, lines.map((line) => `${printed(line)}\n`).join("")) };
}

/** A line about a link. */
export function seenLink(index: number, name: string, kind: string, mac: string, more: object = {}): object {
  return { event: "link", index, name, kind, mac, ...more };
}
