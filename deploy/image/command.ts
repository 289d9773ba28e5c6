/** Programs that the builder runs. */

import { spawn } from "node:child_process";
import { ImageError } from "./image-error.ts";

const TIMEOUT_MS = 300_000;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Throws an ImageError that names `install` where the program is missing. */
export function run(
  command: string,
  args: readonly string[],
  { cwd, install, stdin = "" }: { readonly cwd: string; readonly install: string; readonly stdin?: string },
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, timeout: TIMEOUT_MS, stdio: ["pipe", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
      });
    }
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "ENOENT" ? new ImageError(`${command} was not found: install ${install}`) : error),
    );
    child.on("close", (code) => resolve({ code, ...output }));
    // A program that ends early does not read its input.
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
  });
}

/** The line of a program's complaint that says most. */
export const lastLine = ({ stderr, stdout }: Ran): string =>
  (stderr.trim() || stdout.trim()).split("\n").at(-1) ?? "no reason given";
