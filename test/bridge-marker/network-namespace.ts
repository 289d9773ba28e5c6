/** An empty network namespace of this machine, and an executable that runs another one in it. */
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mustRun, shellQuote } from "../cluster/command.ts";
import { Namespace } from "../netns/testbed.ts";

export class NetworkNamespace implements AsyncDisposable {
  readonly #namespace: Namespace;
  readonly #directory: string;

  private constructor(namespace: Namespace, directory: string) {
    this.#namespace = namespace;
    this.#directory = directory;
  }

  static async create(): Promise<NetworkNamespace> {
    return new NetworkNamespace(await Namespace.create(), await mkdtemp(join(tmpdir(), "netns-")));
  }

  /** Runs a command inside; rejects when it fails. */
  async run(...argv: string[]): Promise<string> {
    return mustRun(this.#namespace.enter(argv));
  }

  /** An executable file that runs the given one inside, with its arguments. */
  async wrapper(executable: string): Promise<string> {
    const file = join(this.#directory, "inside");
    const command = this.#namespace.enter([executable]).map(shellQuote).join(" ");
    await writeFile(file, `#!/bin/sh\nexec ${command} "$@"\n`);
    await chmod(file, 0o755);
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#namespace[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true });
  }
}
