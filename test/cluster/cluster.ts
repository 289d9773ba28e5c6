/**
 * A Kubernetes cluster on this machine for tests and the demo: the real control plane and nodes whose pods are local
 * processes, all in network, mount, PID and, without root, user namespaces of its own. Only the API server is reachable
 * from outside, on a loopback port. Any number of clusters run side by side.
 *
 *   await using cluster = await startCluster({ nodes: [{ name: "node-a", bridges: ["br1"] }] });
 *   await cluster.kubectl(["apply", "-f", "-"], { stdin });   // the administrator's kubectl
 *   await using client = await cluster.client();              // the same as a KubeClient
 *   await cluster.exec("node-a", ["ip", "-j", "link"]);       // root in the node's namespaces
 *   await cluster.execInPod("default", "web", ["ip", "link"]);
 *
 * Pods run the image's bundles of this source tree (`deploy/image`); the rest is in held-cluster.ts.
 */
import type { Server } from "node:net";
import { join } from "node:path";
import { writeAppTree } from "../../deploy/image/app-tree.ts";
import { DEFAULT_IMAGE } from "../../src/api/image.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { controlPlaneTook } from "../support/patience.ts";
import type { CommandResult } from "./command.ts";
import { type Binaries, ensureBinaries } from "./control-plane/binaries.ts";
import type { ControlPlaneArguments } from "./control-plane/control-plane.ts";
import { HeldCluster, listenOnLoopback } from "./held-cluster.ts";
import type { NodeOptions } from "./network-plan.ts";
import type { DeniedConnection } from "./network-policy/enforcer.ts";
import { GUEST_IMAGE, MULTUS_IMAGE } from "./process-node/images.ts";
import { requireNamespaces } from "./requirements.ts";
import { makeRunDirectory } from "./run-directory.ts";
import type { ClusterTimings, SupervisorMethods } from "./supervisor.ts";

export { GUEST_IMAGE, MULTUS_IMAGE } from "./process-node/images.ts";

export interface ClusterOptions {
  readonly nodes: readonly NodeOptions[];
  /** Further arguments of the control plane's programs. */
  readonly controlPlane?: ControlPlaneArguments;
  /** Images the nodes can run besides the default ones, and the tree that each shows at /app. */
  readonly images?: Readonly<Record<string, string>>;
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
  const { log } = options;
  const binaries = await ensureBinaries({ ...(log && { log }) });
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

export class Cluster extends HeldCluster<SupervisorMethods> {
  readonly #options: ClusterOptions;
  readonly #built: Built;
  readonly #runDirectory: string;
  #timings: Timings | undefined;

  constructor(options: ClusterOptions, built: Built, runDirectory: string, listener: Server) {
    const program = join(import.meta.dirname, "supervisor.ts");
    super({ program, runDirectory, listener, kubectl: built.binaries.kubectl, onCrash: options.onCrash });
    this.#options = options;
    this.#built = built;
    this.#runDirectory = runDirectory;
  }

  async start(buildMs: number): Promise<void> {
    const startedAt = performance.now();
    const { nodes, images = {}, controlPlane = {}, log } = this.#options;
    const { binaries, product } = this.#built;
    const plan = {
      ...{ runDirectory: this.#runDirectory, outsideUrl: this.url, binaries, nodes, controlPlane },
      images: {
        [DEFAULT_IMAGE]: product,
        [GUEST_IMAGE]: import.meta.dirname,
        [MULTUS_IMAGE]: join(import.meta.dirname, "multus", "image"),
        ...images,
      },
    };
    const started = async (): Promise<string> => {
      const { kubeconfigText, timings } = await this.caller.call("start", plan);
      controlPlaneTook(timings.apiServerMs);
      this.#timings = { ...timings, totalMs: Math.round(performance.now() - startedAt) };
      return kubeconfigText;
    };
    await this.starts(started());
    log?.(`cluster started in ${this.timings.totalMs} ms, binaries in ${Math.round(buildMs)} ms`);
  }

  get timings(): Timings {
    if (this.#timings === undefined) throw new Error("The cluster has not started yet");
    return this.#timings;
  }

  /** Runs a command in a pod's first container, as root there. */
  async execInPod(namespace: string, pod: string, argv: readonly string[]): Promise<CommandResult> {
    await using client = await this.client();
    const { spec } = await client.get(RESOURCES.pods, { namespace, name: pod });
    if (spec?.nodeName === undefined) throw new Error(`Pod ${namespace}/${pod} is not scheduled yet`);
    return await this.caller.call("execInPod", { node: spec.nodeName, namespace, pod, argv });
  }

  /** What NetworkPolicies have refused so far. Throws where nodes enforce none, because there is no nft. */
  deniedConnections(): Promise<readonly DeniedConnection[]> {
    return this.caller.call("deniedConnections", null);
  }
}
