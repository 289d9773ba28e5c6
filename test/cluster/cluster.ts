/**
 * A Kubernetes cluster on this machine for tests and the demo: the real control plane and nodes whose pods are local
 * processes, all in network, mount, PID and, without root, user namespaces of its own. Only the API server is reachable
 * from outside, on a loopback port. Any number of clusters run side by side.
 *
 * Nothing outlives this process, also when it is killed: namespaces, mounts and processes go with it, and what it had
 * in the temporary directory is removed by the next start.
 */
import { rm, writeFile } from "node:fs/promises";
import type { Server } from "node:net";
import { join } from "node:path";
import { writeAppTree } from "../../deploy/image/app-tree.ts";
import { DEFAULT_IMAGE } from "../../src/api/image.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/client/credentials.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { controlPlaneTook } from "../support/patience.ts";
import { listenOnLoopback, urlOf } from "./api-listener.ts";
import { Caller, handOver } from "./channel.ts";
import { type CommandResult, runCommand } from "./command.ts";
import { type Binaries, type BuildProgress, ensureBinaries } from "./control-plane/binaries.ts";
import { Component, throwUncaught } from "./control-plane/component.ts";
import type { ControlPlaneArguments } from "./control-plane/control-plane.ts";
import type { NodeOptions } from "./network-plan.ts";
import type { DeniedConnection } from "./network-policy/enforcer.ts";
import { GUEST_IMAGE, MULTUS_IMAGE } from "./process-node/images.ts";
import { childOf } from "./process-node/processes.ts";
import { plainEnv, requireNamespaces, unshareCluster } from "./requirements.ts";
import { makeRunDirectory } from "./run-directory.ts";
import type { ClusterTimings, SupervisorMethods } from "./supervisor.ts";

export { GUEST_IMAGE, MULTUS_IMAGE } from "./process-node/images.ts";

export interface ClusterOptions {
  readonly nodes: readonly NodeOptions[];
  /** Whether the NetworkAttachmentDefinition kind is there; true by default. */
  readonly nadCrd?: boolean;
  /** Further arguments of the control plane's programs. */
  readonly controlPlane?: ControlPlaneArguments;
  /** Images the nodes can run besides the default ones, and the tree that each shows at /app. */
  readonly images?: Readonly<Record<string, string>>;
  /** Called while the control plane's programs are being built, which happens once. */
  readonly progress?: (progress: BuildProgress) => void;
  readonly log?: (line: string) => void;
  /** Gets the error, with the tail of its log, when a part of the cluster ends by itself. Default: an uncaught error. */
  readonly onCrash?: (error: Error) => void;
}

interface Built {
  readonly binaries: Binaries;
  /** The folder that pods of the product see as its image's root. */
  readonly product: string;
}

/** Throws MissingRequirement, in one sentence, before anything is started. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const startedAt = performance.now();
  await requireNamespaces();
  const { log, progress } = options;
  const binaries = await ensureBinaries({ ...(log && { log }), ...(progress && { progress }) });
  const product = await writeAppTree(log);
  const builtAt = performance.now();
  const runDirectory = await makeRunDirectory();
  const listener = await listenOnLoopback();
  const cluster = new Cluster(options, { binaries, product }, runDirectory, listener);
  try {
    await cluster.start(builtAt - startedAt);
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

export interface Timings extends ClusterTimings {
  /** From the call of startCluster, builds not counted, until all nodes were Ready. */
  readonly totalMs: number;
}

export class Cluster implements AsyncDisposable {
  /** The API server's address outside the cluster. */
  readonly url: string;
  /** Path of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly kubectlPath: string;
  /** Log files of all parts and containers. */
  readonly logDirectory: string;
  readonly #options: ClusterOptions;
  readonly #binaries: Binaries;
  readonly #product: string;
  readonly #runDirectory: string;
  readonly #listener: Server;
  readonly #supervisor: Component;
  readonly #caller: Caller<SupervisorMethods>;
  readonly #failed = Promise.withResolvers<never>();
  #timings: Timings | undefined;

  constructor(options: ClusterOptions, { binaries, product }: Built, runDirectory: string, listener: Server) {
    this.#options = options;
    this.#binaries = binaries;
    this.#product = product;
    this.#runDirectory = runDirectory;
    this.#listener = listener;
    this.url = urlOf(listener);
    this.kubeconfig = join(runDirectory, "admin.kubeconfig");
    this.kubectlPath = binaries.kubectl;
    this.logDirectory = join(runDirectory, "logs");
    this.#failed.promise.catch(() => {});
    this.#supervisor = new Component({
      name: "cluster supervisor",
      argv: [...unshareCluster(), "sh", "-c", '"$@" || exit $?; exit 1', "sh", process.execPath, supervisorProgram],
      logFile: join(runDirectory, "supervisor.log"),
      ipc: true,
      onCrash: (error) => this.#crashed(error),
    });
    this.#caller = new Caller<SupervisorMethods>(this.#supervisor.process, (text) => this.#crashed(new Error(text)));
  }

  async start(buildMs: number): Promise<void> {
    const startedAt = performance.now();
    handOver(this.#supervisor.process, this.#listener);
    const { nodes, nadCrd = true, images = {}, controlPlane = {} } = this.#options;
    const started = this.#caller.call("start", {
      runDirectory: this.#runDirectory,
      binaries: this.#binaries,
      nodes,
      nadCrd,
      controlPlane,
      images: {
        [DEFAULT_IMAGE]: this.#product,
        [GUEST_IMAGE]: import.meta.dirname,
        [MULTUS_IMAGE]: join(import.meta.dirname, "multus", "image"),
        ...images,
      },
      outsideUrl: this.url,
    });
    const { kubeconfigText, timings } = await Promise.race([started, this.#failed.promise]);
    await writeFile(this.kubeconfig, kubeconfigText, { mode: 0o600 });
    controlPlaneTook(timings.apiServerMs);
    this.#timings = { ...timings, totalMs: Math.round(performance.now() - startedAt) };
    this.#options.log?.(`cluster started in ${this.#timings.totalMs} ms, binaries in ${Math.round(buildMs)} ms`);
  }

  get timings(): Timings {
    if (this.#timings === undefined) throw new Error("The cluster has not started yet");
    return this.#timings;
  }

  /** kubectl of the cluster's version, as the administrator. */
  kubectl(args: readonly string[], options: { readonly stdin?: string } = {}): Promise<CommandResult> {
    return runCommand([this.kubectlPath, ...args], {
      ...options,
      env: plainEnv({ KUBECONFIG: this.kubeconfig, HOME: this.#runDirectory }),
    });
  }

  /** A client of the administrator; the caller disposes of it. */
  async client(): Promise<KubeClient> {
    return new KubeClient({ credentials: await credentialsFromKubeconfig(this.kubeconfig), userAgent: "test" });
  }

  /** A kubeconfig for any user, usable from outside. */
  userKubeconfig(name: string, groups: readonly string[] = []): Promise<string> {
    return this.#caller.call("userKubeconfig", { name, groups });
  }

  /** Runs a command on a node, as root in its namespaces. Its PATH has ip and the like. */
  exec(node: string, argv: readonly string[], options: { readonly stdin?: string } = {}): Promise<CommandResult> {
    return this.#caller.call("exec", { node, argv, ...options });
  }

  /** Runs a command in a pod's first container, or in the named one, as root there. */
  async execInPod(
    namespace: string,
    pod: string,
    argv: readonly string[],
    options: { readonly container?: string; readonly stdin?: string } = {},
  ): Promise<CommandResult> {
    await using client = await this.client();
    const { spec } = await client.get(RESOURCES.pods, { namespace, name: pod });
    if (spec?.nodeName === undefined) throw new Error(`Pod ${namespace}/${pod} is not scheduled yet`);
    return await this.#caller.call("execInPod", { node: spec.nodeName, namespace, pod, argv, ...options });
  }

  /** What NetworkPolicies have refused so far. Throws where nodes enforce none, because there is no nft. */
  deniedConnections(): Promise<readonly DeniedConnection[]> {
    return this.#caller.call("deniedConnections", null);
  }

  async killApiServer(): Promise<void> {
    await this.#caller.call("killApiServer", null);
  }

  async restartApiServer(): Promise<void> {
    await this.#caller.call("restartApiServer", null);
  }

  /** Ends everything on a node at once. */
  async powerOff(node: string): Promise<void> {
    await this.#caller.call("powerOff", { node });
  }

  async powerOn(node: string): Promise<void> {
    await this.#caller.call("powerOn", { node });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    // Killing pid 1 of the namespaces first: when it is gone, everything in them is.
    const init = childOf(this.#supervisor.process.pid);
    await this.#supervisor.endWith(() => init !== undefined && process.kill(init, "SIGKILL"));
    await rm(this.#runDirectory, { recursive: true, force: true });
  }

  #crashed(error: Error): void {
    this.#failed.reject(error);
    if (this.#timings !== undefined) (this.#options.onCrash ?? throwUncaught)(error);
  }
}

const supervisorProgram = join(import.meta.dirname, "supervisor.ts");
