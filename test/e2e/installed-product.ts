/**
 * The product on real nodes, installed as a user does it: its image in a registry on this machine's loopback, and the
 * commands of the README. Build, push and cluster are there after `prepare`; `install` runs the commands.
 */
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { DEFAULT_NAMESPACE, LINUX_BRIDGE_DAEMON_SET, PRODUCT_VERSION } from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { plainEnv } from "../cluster/requirements.ts";
import { type Registry, startRegistry } from "../support/registry.ts";
import { NodeCluster, type RealNodeOptions } from "./node-cluster.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..", "..");
const NAME = "cluster-network-addons";
/** Where `npm run release` writes, and where the README takes it from. */
const RELEASE_FOLDER = join("dist", "release");
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
const AVAILABLE_LIMIT_S = 300;

export class InstalledProduct implements AsyncDisposable {
  readonly registry: Registry;
  readonly cluster: NodeCluster;
  readonly client: KubeClient;
  /** The built image, by its digest. */
  readonly image: string;
  readonly #folder: string;

  /** The image is in the registry and the nodes are Ready; nothing of the product is in the cluster. */
  static async prepare(nodes: readonly RealNodeOptions[]): Promise<InstalledProduct> {
    await using undo = new AsyncDisposableStack();
    const registry = undo.use(await startRegistry());
    const name = `${registry.host}/${NAME}`;
    const stdout = await npmRun("build:image", "--push", `${name}:${PRODUCT_VERSION}`);
    const { digest } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as { digest: string };
    const folder = await mkdtemp(join(tmpdir(), "install-"));
    undo.defer(() => rm(folder, { recursive: true, force: true }));
    const cluster = undo.use(await NodeCluster.start({ nodes, registry: registry.host }));
    await mkdir(join(folder, RELEASE_FOLDER), { recursive: true });
    await symlink(cluster.kubectlPath, join(folder, "kubectl"));
    const client = undo.use(await cluster.client());
    const parts = { registry, cluster, client, image: `${name}@${digest}`, folder };
    return new InstalledProduct(parts, undo.move());
  }

  readonly #parts: AsyncDisposableStack;

  private constructor(
    parts: Pick<InstalledProduct, "registry" | "cluster" | "client" | "image"> & { readonly folder: string },
    owned: AsyncDisposableStack,
  ) {
    this.registry = parts.registry;
    this.cluster = parts.cluster;
    this.client = parts.client;
    this.image = parts.image;
    this.#folder = parts.folder;
    this.#parts = owned;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
  }

  /** Runs the README's commands with a release of the built image. Gives what they print. */
  async install(): Promise<string> {
    await this.#writeRelease(this.image);
    const commands = await commandsOf("README.md", "Install");
    // kubectl gives up after 30 s by itself, which tells nothing on a busy machine.
    return this.#run(commands.replace(/^(kubectl wait )(?!.*--timeout)/m, `$1--timeout=${AVAILABLE_LIMIT_S}s `));
  }

  /** Runs the commands that docs/guide/upgrade-and-remove.md gives for the removal. Gives what they print. */
  async remove(): Promise<string> {
    return this.#run(await commandsOf("docs/guide/upgrade-and-remove.md", "Remove"));
  }

  /** Applies a release of another image, as an upgrade or a rollback does. */
  async applyRelease(image: string): Promise<void> {
    await this.#writeRelease(image);
    await this.cluster.mustKubectl([
      "apply",
      "--server-side",
      "-f",
      join(this.#folder, RELEASE_FOLDER, "release.yaml"),
    ]);
  }

  async pods(): Promise<Pod[]> {
    return (await this.client.list(RESOURCES.pods, { namespace: DEFAULT_NAMESPACE })).items;
  }

  /** The pod of the linux-bridge DaemonSet. */
  async installerOn(node: string): Promise<Pod> {
    const found = (await this.pods()).find(
      ({ metadata, spec }) => metadata.name?.startsWith(`${LINUX_BRIDGE_DAEMON_SET}-`) && spec?.nodeName === node,
    );
    if (found === undefined) throw new Error(`no installer on ${node}`);
    return found;
  }

  async #run(commands: string): Promise<string> {
    const path = `${this.#folder}:${plainEnv().PATH}`;
    const env = plainEnv({ KUBECONFIG: this.cluster.kubeconfig, HOME: this.#folder, PATH: path });
    return (await run("sh", ["-e", "-c", commands], { cwd: this.#folder, env })).stdout;
  }

  async #writeRelease(image: string): Promise<void> {
    await npmRun("release", "--image", image);
    const release = join(ROOT, RELEASE_FOLDER, "release.yaml");
    await copyFile(release, join(this.#folder, RELEASE_FOLDER, "release.yaml"));
  }
}

/** Where the only container of a pod runs. */
export function containerOf({ metadata, spec, status }: Pod): { readonly node: string; readonly id: string } {
  const id = status?.containerStatuses?.[0]?.containerID?.replace("containerd://", "");
  if (id === undefined || spec?.nodeName === undefined) throw new Error(`${metadata.name} does not run`);
  return { node: spec.nodeName, id };
}

async function npmRun(script: string, ...args: readonly string[]): Promise<string> {
  const options = { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES };
  return (await run("npm", ["run", "--silent", script, "--", ...args], options)).stdout;
}

/** The commands of a section, as they are there. */
async function commandsOf(file: string, section: string): Promise<string> {
  const text = await readFile(join(ROOT, file), "utf8");
  const found = text.slice(text.indexOf(`\n## ${section}\n`));
  const block = /```\w*\n([\s\S]*?)```/.exec(found)?.[1];
  if (block === undefined) throw new Error(`${file} has no commands below ## ${section}`);
  return block;
}
