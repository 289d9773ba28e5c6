/** The bundle as a user starts it: away from this repository, with a kubeconfig and a PATH. */
import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { buildCli } from "../../../src/cli/build.ts";
import { type CommandResult, runCommand } from "../../cluster/command.ts";

export class CliProcess implements AsyncDisposable {
  /** In PATH; the executable is in it. */
  readonly folder: string;
  kubeconfig = "";

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async build(): Promise<CliProcess> {
    const folder = await mkdtemp(join(tmpdir(), "kubectl-macpool-"));
    await cp(await buildCli(), join(folder, "kubectl-macpool"));
    return new CliProcess(folder);
  }

  get env(): NodeJS.ProcessEnv {
    const { PATH } = process.env;
    return { PATH: `${this.folder}${delimiter}${PATH}`, HOME: this.folder, KUBECONFIG: this.kubeconfig, TZ: "UTC" };
  }

  run(...args: string[]): Promise<CommandResult> {
    return runCommand([join(this.folder, "kubectl-macpool"), ...args], { env: this.env });
  }

  start(...args: string[]): ChildProcess {
    return spawn(join(this.folder, "kubectl-macpool"), args, { env: this.env, stdio: ["ignore", "pipe", "pipe"] });
  }

  /** Resolves with its path. */
  async write(name: string, text: string): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
