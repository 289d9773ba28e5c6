/** Helm, with folders of its own: nothing of the user's configuration is read or written. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type CommandResult, runCommand } from "../../cluster/command.ts";
import { plainEnv } from "../../cluster/requirements.ts";
import { makeRunDirectory } from "../../cluster/run-directory.ts";
import { ensureGoTool } from "../../tools/go-tool.ts";

export const CHART = join(import.meta.dirname, "../../../deploy/helm");

/** Limit of a hook that opens Helm: the first one on a machine builds it. */
export const HELM_BUILD_MS = 900_000;

export class Helm implements AsyncDisposable {
  readonly directory: string;
  readonly #executable: string;

  private constructor(executable: string, directory: string) {
    this.#executable = executable;
    this.directory = directory;
  }

  static async open(): Promise<Helm> {
    const executable = await ensureGoTool({ name: "helm", goPackage: "helm.sh/helm/v4/cmd/helm" });
    return new Helm(executable, await makeRunDirectory());
  }

  run(args: readonly string[], kubeconfig = "/dev/null"): Promise<CommandResult> {
    const home = (name: string): string => join(this.directory, name);
    const env = plainEnv({
      HOME: this.directory,
      KUBECONFIG: kubeconfig,
      HELM_CACHE_HOME: home("cache"),
      HELM_CONFIG_HOME: home("config"),
      HELM_DATA_HOME: home("data"),
    });
    return runCommand([this.#executable, ...args], { env });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}
