/**
 * Keeps a program running and hands on the lines that it prints. So a daemon gets what only native code can ask the kernel
 * for. The program ends when its stdin closes, so it never outlives the daemon.
 */
import { spawn } from "node:child_process";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";

/** A program that prints a longer line is not the one we expect. */
const MAX_LINE_BYTES = 64 * 1024;

/** Waits before the program is started again: from the first, doubling, to the second. After a while of work, the first again. */
const FIRST_RESTART_MS = 100;
const LAST_RESTART_MS = 10_000;
const WHILE_MS = 10_000;

/** How long the program may take to end after its stdin was closed, and again after it was killed. */
const END_GRACE_MS = 1000;

const MAX_STDERR_BYTES = 4096;
const SHOWN_CHARACTERS = 200;

/** `settled`: the program works. `refused`: it may not print this line. */
type LineVerdict = "taken" | "settled" | "refused";

/** What the program is told on its stdin: the last text, at each start and whenever it is another one. */
export class ProcessInput {
  #text = "";
  #write: (text: string) => void = () => undefined;

  set(text: string): void {
    if (text === this.#text) return;
    this.#text = text;
    this.#write(text);
  }

  /** The program has started. */
  attach(write: (text: string) => void): void {
    this.#write = write;
    if (this.#text !== "") write(this.#text);
  }
}

export interface LineProcessOptions {
  /** What the log calls it. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Absent: it is told nothing. */
  readonly input?: ProcessInput;
  readonly onLine: (line: string) => LineVerdict;
  /** Before each start. */
  readonly onStart: () => void;
  /** A program that prints nothing for so long hangs: another one takes its place. Absent: it may be silent. */
  readonly maxSilenceMs?: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Until the signal aborts. */
export async function runLineProcess(options: LineProcessOptions, signal: AbortSignal): Promise<void> {
  let restartMs = FIRST_RESTART_MS;
  while (!signal.aborted) {
    options.onStart();
    const startMs = options.clock.monotonicMs();
    const end = await runOnce(options, signal);
    if (signal.aborted) return;
    if (end.settled && options.clock.monotonicMs() - startMs >= WHILE_MS) restartMs = FIRST_RESTART_MS;
    options.log.error(
      { command: options.command, restartMs },
      `${options.name} ended (${end.reason}); starting it again`,
    );
    await options.clock.sleep(restartMs, signal).catch(() => undefined);
    restartMs = Math.min(restartMs * 2, LAST_RESTART_MS);
  }
}

interface End {
  readonly reason: string;
  readonly settled: boolean;
}

function runOnce(options: LineProcessOptions, signal: AbortSignal): Promise<End> {
  return new Promise((resolve) => {
    const child = spawn(options.command, options.args, { stdio: ["pipe", "pipe", "pipe"] });
    let pending = "";
    let stderr = "";
    let settled = false;
    let failure: string | undefined;

    let cancel = (): void => undefined;

    const stop = (reason: string): void => {
      if (failure !== undefined) return;
      failure = reason;
      cancel();
      child.stdin.end();
      cancel = options.clock.after(END_GRACE_MS, () => {
        child.kill("SIGKILL");
        cancel = options.clock.after(END_GRACE_MS, () => {
          failure = `${reason}; it can't be ended`;
          for (const stream of [child.stdout, child.stderr]) stream.destroy();
          child.unref();
          finish();
        });
      });
    };
    const onAbort = (): void => stop("told to stop");

    let heardMs = options.clock.monotonicMs();
    const listen = (maxSilenceMs: number): void => {
      const restMs = heardMs + maxSilenceMs - options.clock.monotonicMs();
      if (restMs <= 0) stop(`it printed nothing for ${maxSilenceMs / 1000} s`);
      else cancel = options.clock.after(restMs, () => listen(maxSilenceMs));
    };
    if (options.maxSilenceMs !== undefined) listen(options.maxSilenceMs);

    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (text: string) => {
      if (failure !== undefined) return;
      heardMs = options.clock.monotonicMs();
      const lines = (pending + text).split("\n");
      pending = lines.pop() ?? "";
      for (const line of lines) {
        const verdict = options.onLine(line);
        if (verdict === "refused") return stop(`it printed ${JSON.stringify(line.slice(0, SHOWN_CHARACTERS))}`);
        settled ||= verdict === "settled";
      }
      if (pending.length > MAX_LINE_BYTES) stop(`it printed a line of more than ${MAX_LINE_BYTES} bytes`);
    });
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text: string) => {
      stderr = (stderr + text).slice(-MAX_STDERR_BYTES);
    });
    // It may have ended before its stdin is closed.
    child.stdin.on("error", () => undefined);
    options.input?.attach((text) => child.stdin.write(text));
    child.once("error", (error) => {
      failure ??= error.message;
      if (child.pid === undefined) finish();
    });
    child.once("close", finish);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();

    function finish(code?: number | null, killedBy?: string | null): void {
      cancel();
      signal.removeEventListener("abort", onAbort);
      const status = killedBy ? `signal ${killedBy}` : `exit code ${code ?? "none"}`;
      const said = stderr.trim() === "" ? "" : `: ${stderr.trim()}`;
      resolve({ reason: failure ?? `${status}${said}`, settled });
    }
  });
}
