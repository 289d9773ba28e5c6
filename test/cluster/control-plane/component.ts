/** One process of the control plane or of the cluster: its log goes to a file, its unexpected end is an error. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { compileCacheEnv } from "../compile-cache.ts";
import { findExecutable, plainEnv } from "../requirements.ts";

const TAIL_LINES = 25;
const END_DEADLINE_MS = 10_000;

export interface ComponentOptions {
  readonly name: string;
  readonly argv: readonly string[];
  readonly logFile: string;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Open a channel for messages (`child.send`). */
  readonly ipc?: boolean;
  /** Gets an error with the tail of the log when the process ends and nobody stopped it. */
  readonly onCrash: (error: Error) => void;
}

/** A component ends with the thread that started it, also when that is killed. */
export class Component implements AsyncDisposable {
  readonly name: string;
  readonly logFile: string;
  readonly process: ChildProcess;
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>;
  #stopping = false;

  constructor(options: ComponentOptions) {
    this.name = options.name;
    this.logFile = options.logFile;
    const log = openSync(options.logFile, "a", 0o600);
    const setpriv = findExecutable("setpriv") ?? "setpriv";
    this.process = spawn(setpriv, ["--pdeathsig", "KILL", ...options.argv], {
      stdio: ["ignore", log, log, ...(options.ipc ? (["ipc"] as const) : [])],
      env: plainEnv({ ...compileCacheEnv(), ...options.env }),
      // A session of its own: Ctrl-C is for the program that disposes of this one.
      detached: true,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    closeSync(log);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    const finish = (how: string): void => {
      resolve();
      if (this.#stopping) return;
      this.#stopping = true;
      options.onCrash(new Error(`${options.name} ${how}; the end of ${options.logFile}:\n${this.logTail()}`));
    };
    this.process.once("error", (error) => finish(`did not start: ${error.message}`));
    this.process.once("exit", (code, signal) => finish(`ended by itself (${signal ?? `exit code ${code}`})`));
  }

  get running(): boolean {
    return !this.#stopping;
  }

  logTail(): string {
    try {
      return readFileSync(this.logFile, "utf8").trimEnd().split("\n").slice(-TAIL_LINES).join("\n");
    } catch {
      return "(no log)";
    }
  }

  /** Ends it by SIGKILL: its state is thrown away, and an orderly end takes seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.endWith(() => this.process.kill("SIGKILL"));
  }

  /** Ends it by `end` and waits. Where that has no effect it is killed. */
  async endWith(end: () => unknown): Promise<void> {
    this.#stopping = true;
    end();
    const timer = setTimeout(() => this.process.kill("SIGKILL"), END_DEADLINE_MS);
    await this.ended;
    clearTimeout(timer);
  }
}

/** Default of `onCrash` options: ends a program, fails a test run. */
export function throwUncaught(error: Error): void {
  queueMicrotask(() => {
    throw error;
  });
}
