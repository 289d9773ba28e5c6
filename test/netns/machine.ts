/** Where programs of a test run: under this machine's kernel, or under a guest's. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { type CommandResult, runCommand } from "../cluster/command.ts";

export type Outcome = CommandResult;

/** A process that lives until it is ended. */
export interface Holder {
  /** As the machine's own processes see it. */
  readonly pid: number;
  end(): Promise<void>;
}

export interface Machine {
  /** Network namespaces need a user namespace first. */
  readonly rootless: boolean;
  /** PATH of programs that a test or a plugin starts by name. */
  readonly path: string;
  /** iproute2's `ip`. */
  readonly ip: string;
  /** A directory that the machine and the test both write to. */
  readonly shared: string;
  run(argv: readonly string[], input?: string | Buffer): Promise<Outcome>;
  /** Starts a program that says by its first output that it is ready; undefined when it ends before. */
  hold(argv: readonly string[]): Promise<Holder | undefined>;
}

export const THIS_MACHINE: Machine = {
  rootless: process.getuid?.() !== 0,
  get path() {
    return process.env.PATH ?? "";
  },
  ip: "ip",
  shared: tmpdir(),
  run: (argv, input = "") => runCommand(argv, { stdin: input }),
  async hold([command = "", ...args]) {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    const ready = await Promise.race([
      once(child.stdout, "data").then(() => true),
      once(child, "exit").then(() => false),
      once(child, "error").then(() => false),
    ]);
    return ready ? { pid: child.pid ?? 0, end: () => kill(child) } : undefined;
  },
};

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}
