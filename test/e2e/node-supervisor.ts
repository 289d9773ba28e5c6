/**
 * Runs the control plane and the real nodes from inside the cluster's namespaces, as the only child of their pid 1.
 * Started by node-cluster.ts, told what to do over the channel, and ended with it.
 */
import { mkdir } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { sendNotice } from "../cluster/channel.ts";
import { mustRun } from "../cluster/command.ts";
import { Authority, type KeyPair } from "../cluster/control-plane/authority.ts";
import type { Binaries } from "../cluster/control-plane/binaries.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control-plane/control-plane.ts";
import { renderKubeconfig } from "../cluster/control-plane/kubeconfig.ts";
import type { HeldMethods } from "../cluster/held-cluster.ts";
import { ipBatch } from "../cluster/ip-batch.ts";
import {
  CONTROL_PLANE_ADDRESS,
  type NodeOptions,
  type NodePlan,
  nodePort,
  noNodePort,
  planNodes,
} from "../cluster/network-plan.ts";
import { plainEnv } from "../cluster/requirements.ts";
import {
  ADDRESSES,
  API_SERVER,
  type Directories,
  kubeletCredentials,
  pipeSockets,
  SupervisedCluster,
} from "../cluster/supervised-cluster.ts";
import type { CgroupVersion } from "./cgroups.ts";
import { DISTRIBUTIONS, type Distribution } from "./distributions.ts";
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
  readonly distribution: Distribution;
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

export interface NodeSupervisorMethods extends HeldMethods {
  start(plan: NodeClusterPlan): Promise<string>;
  authority(call: null): Promise<KeyPair>;
  startService(call: { node: string; service: Service }): Promise<void>;
  killService(call: { node: string; service: Service }): Promise<void>;
}

/** On a busy machine a kubelet's heartbeat may be late by seconds. */
const NODE_GRACE = "--node-monitor-grace-period=20s";

interface Booting {
  readonly plan: NodeClusterPlan;
  readonly plans: readonly NodePlan[];
  readonly authority: Authority;
  readonly directories: Directories;
}

class NodeSupervisor extends SupervisedCluster<RealNode> {
  readonly #plans = new Map<string, NodePlan>();

  /** Resolves to the administrator's kubeconfig when the API server is ready and the kubelets run. */
  async start(plan: NodeClusterPlan): Promise<string> {
    const plans = planNodes(plan.nodes);
    this.outsideUrl = plan.outsideUrl;
    const directories = await this.layOut(plan.runDirectory, plans);
    if (plan.registry !== undefined) await forward(plan.registry.socket, REGISTRY_PORT);
    if (plan.webhooks !== undefined) await forward(plan.webhooks, WEBHOOK_PORT);

    const authority = await Authority.create("test-cluster");
    const controlPlaneStarts = this.#startControlPlane(plan, authority, directories);
    const nodesBoot = plans.map((node, index) =>
      this.#bootNode(node, plan.nodes[index] as RealNodeChoice, { plan, plans, authority, directories }),
    );
    const [controlPlane] = await Promise.all([controlPlaneStarts, ...nodesBoot]);
    await this.ready(controlPlane);
    await Promise.all([...this.nodes.values()].map((node) => node.join()));
    return await this.kubeconfig();
  }

  async #startControlPlane(
    { runDirectory, binaries }: NodeClusterPlan,
    authority: Authority,
    { stateDirectory, logDirectory }: Directories,
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
      addresses: ADDRESSES,
      onCrash: report,
    });
  }

  async #bootNode(
    node: NodePlan,
    choice: RealNodeChoice,
    { plan, plans, authority, directories }: Booting,
  ): Promise<void> {
    const { programs, cgroupVersion, registry } = plan;
    const layout = DISTRIBUTIONS[choice.distribution];
    const files = nodeFiles({
      plan: node,
      version: choice.version,
      podNetwork: choice.podNetwork,
      directories: layout,
      cgroupVersion,
      cgroupPath: choice.cgroupPath,
      ...(registry && { registry: registry.name }),
    });
    const real = new RealNode({
      directories: layout,
      ...{ plan: node, nodes: plans, cniPlugins: choice.cniPlugins, images: plan.images, onCrash: report },
      files: [...files, ...(await credentialFiles(authority, node))],
      programs: nodePrograms(programs, choice.version),
      ...directories,
    });
    this.nodes.set(node.name, real);
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

  async authority(): Promise<KeyPair> {
    const { authority } = this.controlPlane;
    return { cert: authority.certificate, key: await authority.privateKey() };
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

/** What the machine serves is reached at the control plane's address; a socket file crosses network namespaces. */
function forward(socket: string, port: number): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer((inside) => pipeSockets(inside, connect(socket)));
  server.once("error", reject);
  server.listen(port, CONTROL_PLANE_ADDRESS, () => resolve());
  return promise;
}

const supervisor = new NodeSupervisor();
supervisor.serve<NodeSupervisorMethods>({
  start: (plan) => supervisor.start(plan),
  exec: async ({ node, argv, stdin }) => await supervisor.node(node).exec(argv, stdin),
  authority: () => supervisor.authority(),
  startService: async ({ node, service }) => await supervisor.node(node).startService(service),
  killService: async ({ node, service }) => await supervisor.node(node).killService(service),
});

/** Kubernetes' own ClusterRoleBinding `system:node-proxier` names this user. */
const KUBE_PROXY_USER = "system:kube-proxy";

async function credentialFiles(authority: Authority, node: NodePlan): Promise<NodeFile[]> {
  const kubelet = await kubeletCredentials(authority, node);
  const kubeProxy = await authority.issue({ commonName: KUBE_PROXY_USER, usage: ["client"] });
  const kubeconfig = (user: string, credentials: KeyPair): string =>
    renderKubeconfig({ server: API_SERVER, caCertificate: authority.certificate, user, credentials });
  return [
    [`${KUBERNETES_DIRECTORY}/ca.crt`, authority.certificate],
    [`${KUBERNETES_DIRECTORY}/kubelet.crt`, kubelet.cert],
    [`${KUBERNETES_DIRECTORY}/kubelet.key`, kubelet.key],
    [`${KUBERNETES_DIRECTORY}/kubelet.kubeconfig`, kubeconfig(`system:node:${node.name}`, kubelet)],
    [`${KUBERNETES_DIRECTORY}/kube-proxy.kubeconfig`, kubeconfig(KUBE_PROXY_USER, kubeProxy)],
  ];
}
