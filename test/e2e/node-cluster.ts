/**
 * A Kubernetes cluster of real nodes on this machine: the real control plane, and nodes with real kubelets, containerd,
 * runc and kube-proxy (nftables), each in its own network, mount, PID, UTS and IPC namespaces and with its own control
 * groups. Needs root. No address outside this machine is ever reached: nodes pull images from a registry on loopback.
 *
 *   await using cluster = await NodeCluster.start({ nodes: [{ name: "n1" }, { name: "n2", version: "1.30.14" }] });
 *   await cluster.kubectl(["apply", "-f", "-"], { stdin });   // the administrator's kubectl
 *   await using client = await cluster.client();              // the same as a KubeClient
 *   await cluster.exec("n1", ["ip", "-j", "link"]);           // root in the node's namespaces
 *   await cluster.killService("n1", "kubelet");               // also "containerd", "kube-proxy"; then startService
 *   await cluster.reboot("n1");                               // everything killed, network and /run new, disk kept
 *   await cluster.log("n1", "kubelet");                       // what a service has said
 *   await takeCensus(cluster, "n1");                          // links, rules, records, processes (census.ts)
 *
 * A node has the images PAUSE_IMAGE and GUEST_IMAGE (images/test-images.ts). It pulls others from `registry`, a registry
 * that listens on this machine's loopback: images are named `${registry}/NAME@sha256:...`, as for any registry.
 *
 * Pods get their first interface by `podNetwork` of their node (node-config.ts): "ptp" is somebody else's network,
 * "bridge" the product's plugin of this source tree. Each further list in /etc/cni/net.d adds an interface.
 *
 * What it has in common with `Cluster` is in test/cluster/held-cluster.ts. What a killed one leaves of control groups is
 * removed by the next start.
 */

import { mkdir, readFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { basename, join } from "node:path";
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { Authority } from "../cluster/control-plane/authority.ts";
import { type Binaries, ensureBinaries } from "../cluster/control-plane/binaries.ts";
import type { GoBuildReports } from "../cluster/control-plane/go-programs.ts";
import { KUBERNETES_VERSION } from "../cluster/control-plane/programs.ts";
import { HeldCluster, listenOnLoopback } from "../cluster/held-cluster.ts";
import { makeRunDirectory } from "../cluster/run-directory.ts";
import { pipeSockets } from "../cluster/supervised-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { type Hierarchies, RunCgroups } from "./cgroups.ts";
import type { Distribution } from "./distributions.ts";
import { writeTestImages } from "./images/test-images.ts";
import type { PodNetwork } from "./node-config.ts";
import { ensureNodePrograms, type KubeletVersion, type NodePrograms } from "./node-programs.ts";
import { requireRealNodes } from "./node-requirements.ts";
import type { NodeSupervisorMethods } from "./node-supervisor.ts";
import type { Service } from "./real-node.ts";

export interface RealNodeOptions {
  readonly name: string;
  /** Of its kubelet; the newest by default. */
  readonly version?: KubeletVersion;
  /** "ptp" by default. */
  readonly podNetwork?: PodNetwork;
  /** Whose directories it has; "kubeadm" by default. */
  readonly distribution?: Distribution;
  /** Bridges that the node has from its start. */
  readonly bridges?: readonly string[];
}

export interface NodeClusterOptions extends GoBuildReports {
  readonly nodes: readonly RealNodeOptions[];
  /** Address of a registry on this machine's loopback, as image names have it: "127.0.0.1:5000". */
  readonly registry?: string;
  /** A port of this machine's loopback at which a test serves webhooks. The API server calls WEBHOOK_ADDRESS. */
  readonly webhookPort?: number;
}

const READY_LIMIT_MS = 90_000;

interface Parts {
  readonly binaries: Binaries;
  readonly programs: NodePrograms;
  readonly plugins: string;
  readonly hierarchies: Hierarchies;
  readonly runDirectory: string;
  readonly cgroups: RunCgroups;
  readonly listener: Server;
}

export class NodeCluster extends HeldCluster<NodeSupervisorMethods> {
  /** Its nodes' control groups are below this path in every hierarchy. */
  readonly cgroups: RunCgroups;
  readonly #options: NodeClusterOptions;
  readonly #parts: Parts;
  readonly #forwarders: Server[] = [];

  /** Resolves when all nodes are Ready. Throws MissingRequirement, in one sentence, before anything is started. */
  static async start(options: NodeClusterOptions): Promise<NodeCluster> {
    const hierarchies = await requireRealNodes();
    const [binaries, plugins] = [await ensureBinaries(options), await buildPlugins()];
    const versions = options.nodes.map(({ version = KUBERNETES_VERSION }) => version);
    const programs = await ensureNodePrograms(versions, options);
    const runDirectory = await makeRunDirectory();
    const names = options.nodes.map(({ name }) => name);
    const cgroups = await RunCgroups.create(hierarchies, basename(runDirectory), names);
    const listener = await listenOnLoopback();
    const parts = { binaries, programs, plugins, hierarchies, runDirectory, cgroups, listener };
    const cluster = new NodeCluster(options, parts);
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(options: NodeClusterOptions, parts: Parts) {
    const program = join(import.meta.dirname, "node-supervisor.ts");
    const { runDirectory, listener, binaries } = parts;
    super({ program, runDirectory, listener, kubectl: binaries.kubectl });
    this.#options = options;
    this.#parts = parts;
    this.cgroups = parts.cgroups;
  }

  async #start(): Promise<void> {
    const { runDirectory, plugins, hierarchies, cgroups, binaries, programs } = this.#parts;
    const imageDirectory = join(runDirectory, "images");
    await mkdir(imageDirectory);
    const images = await writeTestImages(imageDirectory);
    const { registry: name, webhookPort } = this.#options;
    const registry = name === undefined ? undefined : { name, socket: await this.#forward("registry", name) };
    const webhooks =
      webhookPort === undefined ? undefined : await this.#forward("webhooks", `127.0.0.1:${webhookPort}`);
    const cniPlugins = ["host-local", "ptp"].map((name) => join(programs.cni, name));
    const started = this.caller.call("start", {
      ...{ runDirectory, binaries, programs, images, outsideUrl: this.url },
      cgroupVersion: hierarchies.version,
      nodes: this.#options.nodes.map((node) => ({
        ...{
          version: KUBERNETES_VERSION,
          podNetwork: "ptp",
          distribution: "kubeadm",
          cgroupPath: cgroups.nodePath(node.name),
          ...node,
        },
        cniPlugins: [...cniPlugins, ...(node.podNetwork === "bridge" ? [join(plugins, "bridge")] : [])],
      })),
      ...(registry && { registry }),
      ...(webhooks && { webhooks }),
    });
    await this.starts(started, () => this.#nodesReady());
  }

  /** Resolves when all nodes that have a pod network are Ready. */
  async #nodesReady(): Promise<void> {
    const names = this.#options.nodes.filter(({ podNetwork }) => podNetwork !== "none").map(({ name }) => name);
    await Promise.all(names.map((name) => this.nodeReady(name)));
  }

  async nodeReady(node: string): Promise<void> {
    await using client = await this.client();
    let last = "not registered";
    const ready = async (): Promise<boolean> => {
      const { status, spec } = await client.get(RESOURCES.nodes, { name: node });
      const condition = status?.conditions?.find(({ type }) => type === "Ready");
      last = `${condition?.message ?? "no condition Ready"}; taints ${JSON.stringify(spec?.taints ?? [])}`;
      return condition?.status === "True" && (spec?.taints ?? []).length === 0;
    };
    await eventually(`node ${node} is Ready`, ready, { limitMs: READY_LIMIT_MS, state: () => last });
  }

  /** The authority of the cluster's certificates. */
  async authority(): Promise<Authority> {
    return Authority.restore(await this.caller.call("authority", null));
  }

  /** What a service of a node has said since the cluster's start. */
  log(node: string, service: Service): Promise<string> {
    return readFile(join(this.logDirectory, `${service}-${node}.log`), "utf8");
  }

  /** What the runtimes of the nodes said about sandboxes that got no network. */
  async failedAdds(nodes: readonly string[]): Promise<string[]> {
    const logs = await Promise.all(nodes.map((node) => this.log(node, "containerd")));
    return logs.flatMap((log) => log.split("\n").filter((line) => line.includes("failed to setup network")));
  }

  /** SIGKILL. Containers go on. */
  async killService(node: string, service: Service): Promise<void> {
    await this.caller.call("killService", { node, service });
  }

  async startService(node: string, service: Service): Promise<void> {
    await this.caller.call("startService", { node, service });
  }

  async restartService(node: string, service: Service): Promise<void> {
    await this.killService(node, service);
    await this.startService(node, service);
  }

  override async powerOff(node: string): Promise<void> {
    await super.powerOff(node);
    await this.cgroups.removeNode(node);
  }

  override async powerOn(node: string): Promise<void> {
    await this.cgroups.makeNode(node);
    await super.powerOn(node);
  }

  async reboot(node: string): Promise<void> {
    await this.powerOff(node);
    await this.powerOn(node);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const forwarder of this.#forwarders) forwarder.close();
    await super[Symbol.asyncDispose]();
    await this.cgroups[Symbol.asyncDispose]();
  }

  /** A socket file, which crosses network namespaces, for an address of this machine. */
  async #forward(name: string, address: string): Promise<string> {
    const { hostname, port } = new URL(`http://${address}`);
    const socket = join(this.#parts.runDirectory, `${name}.sock`);
    const server = createServer((inside) => pipeSockets(inside, connect(Number(port), hostname)));
    this.#forwarders.push(server);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen(socket, () => resolve());
    await promise;
    return socket;
  }
}
