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
 * Nothing outlives this process, also when it is killed: processes, namespaces and mounts go with it; its directory and
 * control groups are removed by the next start.
 */

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { basename, join } from "node:path";
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { credentialsFromKubeconfig } from "../../src/kube/client/credentials.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { listenOnLoopback, urlOf } from "../cluster/api-listener.ts";
import { Caller, handOver } from "../cluster/channel.ts";
import { type CommandResult, runCommand } from "../cluster/command.ts";
import { Authority } from "../cluster/control-plane/authority.ts";
import { type Binaries, ensureBinaries } from "../cluster/control-plane/binaries.ts";
import { Component, throwUncaught } from "../cluster/control-plane/component.ts";
import type { GoBuildReports } from "../cluster/control-plane/go-programs.ts";
import { KUBERNETES_VERSION } from "../cluster/control-plane/programs.ts";
import { pipeSockets } from "../cluster/pipe-sockets.ts";
import { childOf } from "../cluster/process-node/processes.ts";
import { plainEnv, unshareCluster } from "../cluster/requirements.ts";
import { makeRunDirectory } from "../cluster/run-directory.ts";
import { eventually } from "../support/eventually.ts";
import { type Hierarchies, RunCgroups } from "./cgroups.ts";
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
  /** Bridges that the node has from its start. */
  readonly bridges?: readonly string[];
}

export interface NodeClusterOptions extends GoBuildReports {
  readonly nodes: readonly RealNodeOptions[];
  /** Address of a registry on this machine's loopback, as image names have it: "127.0.0.1:5000". */
  readonly registry?: string;
  /** A port of this machine's loopback at which a test serves webhooks. The API server calls WEBHOOK_ADDRESS. */
  readonly webhookPort?: number;
  /** Gets the error, with the tail of its log, when a part of the cluster ends by itself. Default: an uncaught error. */
  readonly onCrash?: (error: Error) => void;
}

const READY_LIMIT_MS = 90_000;
const supervisorProgram = join(import.meta.dirname, "node-supervisor.ts");

interface Parts {
  readonly binaries: Binaries;
  readonly programs: NodePrograms;
  readonly plugins: string;
  readonly hierarchies: Hierarchies;
  readonly runDirectory: string;
  readonly cgroups: RunCgroups;
  readonly listener: Server;
}

export class NodeCluster implements AsyncDisposable {
  /** The API server's address outside the cluster. */
  readonly url: string;
  /** Path of an administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly kubectlPath: string;
  /** Log files of all parts. */
  readonly logDirectory: string;
  /** Its nodes' control groups are below this path in every hierarchy. */
  readonly cgroups: RunCgroups;
  readonly #options: NodeClusterOptions;
  readonly #parts: Parts;
  readonly #supervisor: Component;
  readonly #caller: Caller<NodeSupervisorMethods>;
  readonly #failed = Promise.withResolvers<never>();
  readonly #forwarders: Server[] = [];
  #started = false;

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
    this.#options = options;
    this.#parts = parts;
    this.url = urlOf(parts.listener);
    this.kubeconfig = join(parts.runDirectory, "admin.kubeconfig");
    this.kubectlPath = parts.binaries.kubectl;
    this.logDirectory = join(parts.runDirectory, "logs");
    this.cgroups = parts.cgroups;
    this.#failed.promise.catch(() => {});
    this.#supervisor = new Component({
      name: "supervisor of the nodes",
      argv: [...unshareCluster(), "sh", "-c", '"$@" || exit $?; exit 1', "sh", process.execPath, supervisorProgram],
      logFile: join(parts.runDirectory, "supervisor.log"),
      ipc: true,
      onCrash: (error) => this.#crashed(error),
    });
    this.#caller = new Caller(this.#supervisor.process, (text) => this.#crashed(new Error(text)));
  }

  async #start(): Promise<void> {
    const { runDirectory, plugins, hierarchies, cgroups, binaries, programs, listener } = this.#parts;
    handOver(this.#supervisor.process, listener);
    const imageDirectory = join(runDirectory, "images");
    await mkdir(imageDirectory);
    const images = await writeTestImages(imageDirectory);
    const { registry: name, webhookPort } = this.#options;
    const registry = name === undefined ? undefined : { name, socket: await this.#forward("registry", name) };
    const webhooks =
      webhookPort === undefined ? undefined : await this.#forward("webhooks", `127.0.0.1:${webhookPort}`);
    const cniPlugins = ["host-local", "ptp"].map((name) => join(programs.cni, name));
    const started = this.#caller.call("start", {
      ...{ runDirectory, binaries, programs, images, outsideUrl: this.url },
      cgroupVersion: hierarchies.version,
      nodes: this.#options.nodes.map((node) => ({
        ...{ version: KUBERNETES_VERSION, podNetwork: "ptp", cgroupPath: cgroups.nodePath(node.name), ...node },
        cniPlugins: [...cniPlugins, ...(node.podNetwork === "bridge" ? [join(plugins, "bridge")] : [])],
      })),
      ...(registry && { registry }),
      ...(webhooks && { webhooks }),
    });
    await writeFile(this.kubeconfig, await Promise.race([started, this.#failed.promise]), { mode: 0o600 });
    await Promise.race([this.#nodesReady(), this.#failed.promise]);
    this.#started = true;
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

  /** kubectl of the control plane's version, as the administrator. */
  kubectl(args: readonly string[], options: { readonly stdin?: string } = {}): Promise<CommandResult> {
    return runCommand([this.kubectlPath, ...args], {
      ...options,
      env: plainEnv({ KUBECONFIG: this.kubeconfig, HOME: this.#parts.runDirectory }),
    });
  }

  /** A client of the administrator; the caller disposes of it. */
  async client(): Promise<KubeClient> {
    return new KubeClient({ credentials: await credentialsFromKubeconfig(this.kubeconfig), userAgent: "test" });
  }

  /** The authority of the cluster's certificates. */
  async authority(): Promise<Authority> {
    return Authority.restore(await this.#caller.call("authority", null));
  }

  /** A kubeconfig for any user, usable from outside. */
  userKubeconfig(name: string, groups: readonly string[] = []): Promise<string> {
    return this.#caller.call("userKubeconfig", { name, groups });
  }

  /** Runs a command as root in the node's namespaces. Its PATH has ip, nft, ctr, runc and the like. */
  exec(node: string, argv: readonly string[], options: { readonly stdin?: string } = {}): Promise<CommandResult> {
    return this.#caller.call("exec", { node, argv, ...options });
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
    await this.#caller.call("killService", { node, service });
  }

  async startService(node: string, service: Service): Promise<void> {
    await this.#caller.call("startService", { node, service });
  }

  async restartService(node: string, service: Service): Promise<void> {
    await this.killService(node, service);
    await this.startService(node, service);
  }

  /** Ends everything on a node at once, as a power cut does. */
  async powerOff(node: string): Promise<void> {
    await this.#caller.call("powerOff", { node });
    await this.cgroups.removeNode(node);
  }

  /** Resolves when its kubelet runs, which is before it is Ready. */
  async powerOn(node: string): Promise<void> {
    await this.cgroups.makeNode(node);
    await this.#caller.call("powerOn", { node });
  }

  async reboot(node: string): Promise<void> {
    await this.powerOff(node);
    await this.powerOn(node);
  }

  async killApiServer(): Promise<void> {
    await this.#caller.call("killApiServer", null);
  }

  async restartApiServer(): Promise<void> {
    await this.#caller.call("restartApiServer", null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#parts.listener.close();
    for (const forwarder of this.#forwarders) forwarder.close();
    // Killing pid 1 of the namespaces first: when it is gone, everything in them is.
    const init = childOf(this.#supervisor.process.pid);
    await this.#supervisor.endWith(() => init !== undefined && process.kill(init, "SIGKILL"));
    await this.cgroups[Symbol.asyncDispose]();
    await rm(this.#parts.runDirectory, { recursive: true, force: true });
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

  #crashed(error: Error): void {
    this.#failed.reject(error);
    if (this.#started) (this.#options.onCrash ?? throwUncaught)(error);
  }
}
