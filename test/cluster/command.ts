/** Short commands run to their end, with their output collected. */
import { spawn } from "node:child_process";

export interface CommandResult {
  /** Exit code; 128 + signal number when a signal ended it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly stdin?: string | Buffer;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

const SIGNAL_NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGABRT: 6, SIGKILL: 9, SIGTERM: 15 };

export const exitCode = (code: number | null, signal: string | null): number =>
  code ?? 128 + (SIGNAL_NUMBERS[signal ?? ""] ?? 0);

/** Runs a command; a non-zero exit is a value, only a command that can't be started rejects. */
export function runCommand(argv: readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
  const [program = "", ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ["pipe", "pipe", "pipe"],
      env: options.env ?? process.env,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.signal === undefined ? {} : { signal: options.signal, killSignal: "SIGKILL" }),
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code: exitCode(code, signal), stdout, stderr }));
    child.stdin.on("error", () => {}); // the command may end without reading
    child.stdin.end(options.stdin ?? "");
  });
}

/** What a command printed; a non-zero exit throws `what` it was and what it said. */
export function outputOf(what: string, { code, stdout, stderr }: CommandResult): string {
  if (code === 0) return stdout;
  throw new Error(`${what}: exit code ${code}: ${(stderr.trim() || stdout.trim()).slice(-2000)}`);
}

/** As runCommand, but a non-zero exit rejects with the command and what it printed. Resolves to stdout. */
export async function mustRun(argv: readonly string[], options: CommandOptions = {}): Promise<string> {
  return outputOf(argv.join(" "), await runCommand(argv, options));
}

/** A word for the shell. */
export const shellQuote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
