/** An empty network namespace (in a user namespace of its own where the test is not root), for as long as it is held. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustRun, shellQuote } from "../cluster/command.ts";

export class NetworkNamespace implements AsyncDisposable {
  readonly #holder: ChildProcess;
  readonly #directory: string;

  private constructor(holder: ChildProcess, directory: string) {
    this.#holder = holder;
    this.#directory = directory;
  }

  static async create(): Promise<NetworkNamespace> {
    const directory = await mkdtemp(join(tmpdir(), "netns-"));
    const rootless = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
    // `read` ends when this process does: its stdin is ours.
    const held = ["unshare", ...rootless, "--net", "sh", "-c", "echo held; read -r _"];
    const holder = spawn("setpriv", ["--pdeathsig", "KILL", ...held], { stdio: ["pipe", "pipe", "inherit"] });
    await new Promise<void>((resolve, reject) => {
      holder.stdout?.once("data", () => resolve());
      holder.once("error", reject);
      holder.once("exit", (code) => reject(new Error(`unshare ended with exit code ${code}`)));
    });
    return new NetworkNamespace(holder, directory);
  }

  /** Runs a command inside; rejects when it fails. */
  async run(...argv: string[]): Promise<string> {
    return mustRun([...this.#enter(), ...argv]);
  }

  /** An executable file that runs the given one inside, with its arguments. */
  async wrapper(executable: string): Promise<string> {
    const file = join(this.#directory, "inside");
    const command = [...this.#enter(), executable].map(shellQuote).join(" ");
    await writeFile(file, `#!/bin/sh\nexec ${command} "$@"\n`);
    await chmod(file, 0o755);
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#holder.once("exit", resolve));
    this.#holder.kill("SIGKILL");
    await ended;
    await rm(this.#directory, { recursive: true });
  }

  #enter(): string[] {
    const user = process.getuid?.() === 0 ? [] : ["--user", "--preserve-credentials"];
    return ["nsenter", `--target=${this.#holder.pid}`, ...user, "--net"];
  }
}
