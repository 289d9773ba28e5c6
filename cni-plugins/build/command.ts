/** Programs that a build runs. */

import { type ChildProcess, spawn } from "node:child_process";

export interface Ran {
  /** null when it was ended, by its time limit or otherwise. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly stdin?: string;
  readonly timeoutMs?: number;
}

const running = new Set<ChildProcess>();

/** Rejects for a program that can't be started. */
export function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env, stdin = "", timeoutMs = 0 }: CommandOptions,
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, timeout: timeoutMs, stdio: ["pipe", "pipe", "pipe"] });
    running.add(child);
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
      });
    }
    child.on("error", (error) => {
      running.delete(child);
      reject(error);
    });
    child.on("close", (code) => {
      running.delete(child);
      resolve({ code, ...output });
    });
    // A program that ends early does not read its input.
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
  });
}

export function endCommands(): void {
  for (const child of running) child.kill("SIGKILL");
}
