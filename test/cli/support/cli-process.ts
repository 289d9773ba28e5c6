/** The bundle as a user starts it: away from this repository, with a kubeconfig and a PATH. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect } from "vitest";

const ROOT = join(import.meta.dirname, "../../..");

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class CliProcess implements AsyncDisposable {
  /** In PATH; the executable is in it. */
  readonly folder: string;
  kubeconfig = "";

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async build(): Promise<CliProcess> {
    const folder = await mkdtemp(join(tmpdir(), "kubectl-macpool-"));
    const built = await execute(process.execPath, [join(ROOT, "src/cli/build.ts")], process.env);
    expect(built).toMatchObject({ code: 0, stderr: "" });
    await cp(join(ROOT, "dist/kubectl-macpool.js"), join(folder, "kubectl-macpool"));
    return new CliProcess(folder);
  }

  get env(): NodeJS.ProcessEnv {
    const { PATH } = process.env;
    return { PATH: `${this.folder}${delimiter}${PATH}`, HOME: this.folder, KUBECONFIG: this.kubeconfig, TZ: "UTC" };
  }

  run(...args: string[]): Promise<Ended> {
    return execute(join(this.folder, "kubectl-macpool"), args, this.env);
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

export function execute(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(file, args, { env, encoding: "utf8" }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, stdout, stderr });
    });
  });
}
