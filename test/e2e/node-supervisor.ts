/**
 * Runs the control plane and the real nodes from inside the cluster's namespaces, as the only child of their pid 1.
 * Started by node-cluster.ts, told what to do over the channel, and ended with it.
 */
import { mkdir } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { sendNotice, serveCalls } from "../cluster/channel.ts";
import { installClusterObjects } from "../cluster/cluster-objects.ts";
import { type CommandResult, mustRun } from "../cluster/command.ts";
import { Authority, type KeyPair } from "../cluster/control-plane/authority.ts";
import type { Binaries } from "../cluster/control-plane/binaries.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { renderKubeconfig } from "../cluster/control-plane/kubeconfig.ts";
import { ipBatch } from "../cluster/ip-batch.ts";
import {
  CONTROL_PLANE_ADDRESS,
  clusterLinks,
  type NodeOptions,
  type NodePlan,
  nodePort,
  noNodePort,
  planNodes,
} from "../cluster/network-plan.ts";
import { pipeSockets } from "../cluster/pipe-sockets.ts";
import { plainEnv } from "../cluster/requirements.ts";
import type { CgroupVersion } from "./cgroups.ts";
import {
  KUBERNETES_DIRECTORY,
  type NodeFile,
  nodeFiles,
  type PodNetwork,
  REGISTRY_PORT,
  WEBHOOK_PORT,
} from "./node-config.ts";
import type { KubeletVersion, NodePrograms } from "./node-programs.ts";
import { RealNode, type Service } from "./real-node.ts";

export interface RealNodeChoice extends NodeOptions {
  readonly version: KubeletVersion;
  readonly podNetwork: PodNetwork;
  /** Path of its control groups. */
  readonly cgroupPath: string;
  /** Executables that are in its CNI directory from the start. */
  readonly cniPlugins: readonly string[];
}

export interface NodeClusterPlan {
  readonly runDirectory: string;
  readonly binaries: Binaries;
  readonly programs: NodePrograms;
  readonly nodes: readonly RealNodeChoice[];
  readonly cgroupVersion: CgroupVersion;
  readonly images: readonly string[];
  /** Host and port of the registry in image names, and the socket at which the machine forwards to it. */
  readonly registry?: { readonly name: string; readonly socket: string };
  /** The socket at which the machine forwards to a test's webhooks. */
  readonly webhooks?: string;
  /** Where the API server is reached from outside. */
  readonly outsideUrl: string;
}

export interface NodeSupervisorMethods {
  start(plan: NodeClusterPlan): Promise<string>;
  exec(call: { node: string; argv: readonly string[]; stdin?: string }): Promise<CommandResult>;
  authority(call: null): Promise<KeyPair>;
  userKubeconfig(call: { name: string; groups: readonly string[] }): Promise<string>;
  startService(call: { node: string; service: Service }): Promise<void>;
  killService(call: { node: string; service: Service }): Promise<void>;
  powerOff(call: { node: string }): Promise<void>;
  powerOn(call: { node: string }): Promise<void>;
  killApiServer(call: null): Promise<void>;
  restartApiServer(call: null): Promise<void>;
}

const API_SERVER_PORT = 443;
const ETCD_PORT = 2379;
/** On a busy machine a kubelet's heartbeat may be late by seconds. */
const NODE_GRACE = "--node-monitor-grace-period=20s";

class NodeSupervisor {
  readonly #nodes = new Map<string, RealNode>();
  readonly #plans = new Map<string, NodePlan>();
  #controlPlane: ControlPlane | undefined;
  #outsideUrl = "";

  /** Resolves to the administrator's kubeconfig when the API server is ready and the kubelets run. */
  async start(plan: NodeClusterPlan): Promise<string> {
    const plans = planNodes(plan.nodes);
    const stateDirectory = join(plan.runDirectory, "state");
    const logDirectory = join(plan.runDirectory, "logs");
    this.#outsideUrl = plan.outsideUrl;
    await mkdir(stateDirectory);
    await mkdir(logDirectory);
    await mustRun(["mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"], { env: plainEnv() });
    await mkdir("/run/netns");
    await ipBatch(clusterLinks(plans));
    if (plan.registry !== undefined) await forward(plan.registry.socket, REGISTRY_PORT);
    if (plan.webhooks !== undefined) await forward(plan.webhooks, WEBHOOK_PORT);

    const authority = await Authority.create("test-cluster");
    const controlPlaneStarts = this.#startControlPlane(plan, authority, { stateDirectory, logDirectory });
    const nodesBoot = plans.map((node, index) => this.#bootNode(node, index, plan, plans, authority));
    const [controlPlane] = await Promise.all([controlPlaneStarts, ...nodesBoot]);
    this.#controlPlane = controlPlane;
    await installClusterObjects(controlPlane, true);
    await Promise.all([...this.#nodes.values()].map((node) => node.join()));
    return await controlPlane.userKubeconfig("admin", ["system:masters"], plan.outsideUrl);
  }

  async #startControlPlane(
    { runDirectory, binaries }: NodeClusterPlan,
    authority: Authority,
    { stateDirectory, logDirectory }: { readonly stateDirectory: string; readonly logDirectory: string },
  ): Promise<ControlPlane> {
    const directory = join(stateDirectory, "control-plane");
    await mkdir(directory);
    // etcd's state is thrown away: it needs no disk.
    await mustRun(["mount", "-t", "tmpfs", "-o", "mode=700", "state", directory], {
      env: plainEnv(),
      cwd: runDirectory,
    });
    return await startControlPlane({
      controllerManager: true,
      scheduler: true,
      controllerManagerArguments: [NODE_GRACE],
      ...{ authority, binaries, directory, logDirectory },
      addresses: {
        ...{ address: CONTROL_PLANE_ADDRESS, port: API_SERVER_PORT },
        ...{ etcdAddress: "127.0.0.1", etcdPort: ETCD_PORT, published: true },
      },
      onCrash: report,
    });
  }

  async #bootNode(
    node: NodePlan,
    index: number,
    plan: NodeClusterPlan,
    nodes: readonly NodePlan[],
    authority: Authority,
  ): Promise<void> {
    const choice = plan.nodes[index] as RealNodeChoice;
    const { programs, cgroupVersion, registry } = plan;
    const files = nodeFiles({
      plan: node,
      version: choice.version,
      podNetwork: choice.podNetwork,
      cgroupVersion,
      cgroupPath: choice.cgroupPath,
      ...(registry && { registry: registry.name }),
    });
    const apiServer = `https://${CONTROL_PLANE_ADDRESS}:${API_SERVER_PORT}`;
    const real = new RealNode({
      ...{ plan: node, nodes, cniPlugins: choice.cniPlugins, images: plan.images, onCrash: report },
      files: [...files, ...(await credentialFiles(authority, node, apiServer))],
      programs: nodePrograms(programs, choice.version),
      stateDirectory: join(plan.runDirectory, "state"),
      logDirectory: join(plan.runDirectory, "logs"),
    });
    this.#nodes.set(node.name, real);
    this.#plans.set(node.name, node);
    await real.install();
    await real.boot();
  }

  async powerOff(name: string): Promise<void> {
    await this.node(name).powerOff();
    const plan = this.#plans.get(name);
    if (plan !== undefined) await ipBatch(noNodePort(plan));
  }

  async powerOn(name: string): Promise<void> {
    const node = this.node(name);
    const plan = this.#plans.get(name);
    if (plan !== undefined) await ipBatch(nodePort(plan));
    await node.boot();
    await node.join();
  }

  node(name: string): RealNode {
    const node = this.#nodes.get(name);
    if (node === undefined)
      throw new Error(`There is no node ${name}; there are ${[...this.#nodes.keys()].join(", ")}`);
    return node;
  }

  get controlPlane(): ControlPlane {
    if (this.#controlPlane === undefined) throw new Error("The cluster has not started yet");
    return this.#controlPlane;
  }

  async authority(): Promise<KeyPair> {
    const { authority } = this.controlPlane;
    return { cert: authority.certificate, key: await authority.privateKey() };
  }

  userKubeconfig(name: string, groups: readonly string[]): Promise<string> {
    return this.controlPlane.userKubeconfig(name, groups, this.#outsideUrl);
  }
}

const report = (error: Error): void => sendNotice(error.message);

function nodePrograms(programs: NodePrograms, version: KubeletVersion): Record<string, string> {
  const kubelet = programs.kubelets[version];
  if (kubelet === undefined) throw new Error(`no kubelet ${version}`);
  const containerd = ["containerd", "containerd-shim-runc-v2", "ctr"];
  return {
    ...Object.fromEntries(containerd.map((name) => [name, join(programs.containerd, name)])),
    ...{ runc: programs.runc, kubelet, "kube-proxy": programs.kubeProxy, cnitool: join(programs.cni, "cnitool") },
  };
}

/** Connections of the listener that node-cluster.ts opened on the machine's loopback go to the API server in here. */
function forwardToApiServer(listener: Server): void {
  listener.on("connection", (outside) => pipeSockets(outside, connect(API_SERVER_PORT, CONTROL_PLANE_ADDRESS)));
}

/** What the machine serves is reached at the control plane's address; a socket file crosses network namespaces. */
function forward(socket: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer((inside) => pipeSockets(inside, connect(socket)));
  server.once("error", reject);
  server.listen(port, CONTROL_PLANE_ADDRESS, () => resolve());
  return promise;
}

const supervisor = new NodeSupervisor();
const methods: NodeSupervisorMethods = {
  start: (plan) => supervisor.start(plan),
  exec: async ({ node, argv, stdin }) => await supervisor.node(node).exec(argv, stdin),
  authority: () => supervisor.authority(),
  userKubeconfig: ({ name, groups }) => supervisor.userKubeconfig(name, groups),
  startService: async ({ node, service }) => await supervisor.node(node).startService(service),
  killService: async ({ node, service }) => await supervisor.node(node).killService(service),
  powerOff: ({ node }) => supervisor.powerOff(node),
  powerOn: ({ node }) => supervisor.powerOn(node),
  killApiServer: () => supervisor.controlPlane.killApiServer(),
  restartApiServer: () => supervisor.controlPlane.restartApiServer(),
};
serveCalls(methods, forwardToApiServer);

/** Kubernetes' own ClusterRoleBinding `system:node-proxier` names this user. */
const KUBE_PROXY_USER = "system:kube-proxy";

async function credentialFiles(authority: Authority, node: NodePlan, server: string): Promise<NodeFile[]> {
  const kubelet = await authority.issue({
    commonName: `system:node:${node.name}`,
    groups: ["system:nodes"],
    dnsNames: [node.name],
    addresses: [node.address],
    usage: ["client", "server"],
  });
  const kubeProxy = await authority.issue({ commonName: KUBE_PROXY_USER, usage: ["client"] });
  const kubeconfig = (user: string, credentials: KeyPair): string =>
    renderKubeconfig({ server, caCertificate: authority.certificate, user, credentials });
  return [
    [`${KUBERNETES_DIRECTORY}/ca.crt`, authority.certificate],
    [`${KUBERNETES_DIRECTORY}/kubelet.crt`, kubelet.cert],
    [`${KUBERNETES_DIRECTORY}/kubelet.key`, kubelet.key],
    [`${KUBERNETES_DIRECTORY}/kubelet.kubeconfig`, kubeconfig(`system:node:${node.name}`, kubelet)],
    [`${KUBERNETES_DIRECTORY}/kube-proxy.kubeconfig`, kubeconfig(KUBE_PROXY_USER, kubeProxy)],
  ];
}
