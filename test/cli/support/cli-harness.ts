import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Ended, macpool } from "./macpool.ts";
import { CLAIM, POOL } from "./objects.ts";
import { kubeconfigOf, type Script, ScriptedCluster } from "./scripted-cluster.ts";

/** A scripted cluster, and a kubeconfig file that names it. */
export class CliHarness implements AsyncDisposable {
  readonly cluster: ScriptedCluster;
  readonly kubeconfig: string;
  readonly #folder: string;

  private constructor(cluster: ScriptedCluster, folder: string, kubeconfig: string) {
    this.cluster = cluster;
    this.kubeconfig = kubeconfig;
    this.#folder = folder;
  }

  static async start(): Promise<CliHarness> {
    const cluster = await ScriptedCluster.start();
    const folder = await mkdtemp(join(tmpdir(), "macpool-cli-"));
    const kubeconfig = join(folder, "kubeconfig");
    await writeFile(kubeconfig, kubeconfigOf(cluster.parts("one")));
    return new CliHarness(cluster, folder, kubeconfig);
  }

  /** Runs the command in a cluster with one pool and one claim, unless the script says otherwise. */
  say(script: Script, ...argv: string[]): Promise<Ended> {
    this.cluster.script = { pools: [POOL], claims: [CLAIM], ...script };
    return macpool(this.kubeconfig, argv);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
