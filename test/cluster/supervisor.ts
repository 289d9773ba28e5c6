/**
 * Runs a cluster from inside its namespaces, as the only child of their pid 1: network, control plane, nodes. Started by
 * cluster.ts, told what to do over the channel, and ended with it: when the channel closes this process ends, pid 1
 * with it, and the kernel ends and removes everything else.
 */
import { mkdir } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { join } from "node:path";
import type { Node } from "../../src/kube/client/built-in-kinds.ts";
import { patience } from "../support/patience.ts";
import { sendNotice, serveCalls } from "./channel.ts";
import { installClusterObjects } from "./cluster-objects.ts";
import { type CommandResult, mustRun } from "./command.ts";
import { Authority, type KeyPair } from "./control-plane/authority.ts";
import type { Binaries } from "./control-plane/binaries.ts";
import { type ControlPlane, type ControlPlaneArguments, startControlPlane } from "./control-plane/control-plane.ts";
import { waitUntil } from "./control-plane/readiness.ts";
import { ipBatch } from "./ip-batch.ts";
import { MULTUS_USER } from "./multus/account.ts";
import {
  CONTROL_PLANE_ADDRESS,
  clusterLinks,
  type NodeOptions,
  type NodePlan,
  nodeLinks,
  nodeNamespace,
  planNodes,
} from "./network-plan.ts";
import { type DeniedConnection, Enforcer } from "./network-policy/enforcer.ts";
import { NodeProcess } from "./node-process.ts";
import { pipeSockets } from "./pipe-sockets.ts";
import { clientOf } from "./process-node/node-client.ts";
import { hasNft, plainEnv } from "./requirements.ts";

export interface ClusterPlan {
  readonly runDirectory: string;
  readonly binaries: Binaries;
  readonly nodes: readonly NodeOptions[];
  readonly images: Readonly<Record<string, string>>;
  readonly nadCrd: boolean;
  readonly controlPlane: ControlPlaneArguments;
  /** Where the API server is reached from outside. */
  readonly outsideUrl: string;
}

export interface ClusterTimings {
  /** From the supervisor's start to the API server's first "ready". */
  readonly apiServerMs: number;
  /** ... until all nodes are Ready. */
  readonly nodesReadyMs: number;
  /** ... until all nodes take pods: controller-manager has removed their taints. */
  readonly schedulableMs: number;
}

export interface SupervisorMethods {
  start(plan: ClusterPlan): Promise<{ readonly kubeconfigText: string; readonly timings: ClusterTimings }>;
  exec(call: { node: string; argv: readonly string[]; stdin?: string }): Promise<CommandResult>;
  execInPod(call: {
    node: string;
    namespace: string;
    pod: string;
    container?: string;
    argv: readonly string[];
    stdin?: string;
  }): Promise<CommandResult>;
  userKubeconfig(call: { name: string; groups: readonly string[] }): Promise<string>;
  deniedConnections(call: null): Promise<readonly DeniedConnection[]>;
  killApiServer(call: null): Promise<void>;
  restartApiServer(call: null): Promise<void>;
  powerOff(call: { node: string }): Promise<void>;
  powerOn(call: { node: string }): Promise<void>;
}

const API_SERVER_PORT = 443;
const API_SERVER = `https://${CONTROL_PLANE_ADDRESS}:${API_SERVER_PORT}`;
const ETCD_PORT = 2379;
/** Of all nodes, on an idle machine. */
const READY_LIMIT_MS = 20_000;

class Supervisor {
  readonly #startedAt = performance.now();
  readonly #nodes = new Map<string, NodeProcess>();
  #controlPlane: ControlPlane | undefined;
  #enforcer: Enforcer | undefined;
  #outsideUrl = "";

  async start(plan: ClusterPlan): ReturnType<SupervisorMethods["start"]> {
    const nodes = planNodes(plan.nodes);
    const stateDirectory = join(plan.runDirectory, "state");
    const logDirectory = join(plan.runDirectory, "logs");
    this.#outsideUrl = plan.outsideUrl;
    await mkdir(stateDirectory);
    await mkdir(logDirectory);
    // All state is on file systems that vanish with the namespaces.
    await mustRun(["mount", "-t", "tmpfs", "-o", "mode=700", "state", stateDirectory], { env: plainEnv() });
    await mustRun(["mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"], { env: plainEnv() });
    await mkdir("/run/netns");
    await ipBatch(clusterLinks(nodes));

    const authority = await Authority.create("test-cluster");
    const onCrash = (error: Error): void => sendNotice(error.message);
    const controlPlaneStarts = startControlPlane({
      ...plan.controlPlane,
      controllerManager: true,
      scheduler: true,
      authority,
      binaries: plan.binaries,
      directory: join(stateDirectory, "control-plane"),
      logDirectory,
      addresses: {
        address: CONTROL_PLANE_ADDRESS,
        port: API_SERVER_PORT,
        etcdAddress: "127.0.0.1",
        etcdPort: ETCD_PORT,
        published: true,
      },
      onCrash,
    });
    const nodesStart = this.#startNodes(nodes, plan, authority, { stateDirectory, logDirectory }, onCrash);
    const [controlPlane] = await Promise.all([controlPlaneStarts, nodesStart]);
    this.#controlPlane = controlPlane;
    const apiServerMs = this.#elapsedMs();
    const kubeconfigText = await controlPlane.userKubeconfig("admin", ["system:masters"], plan.outsideUrl);
    await installClusterObjects(controlPlane, plan.nadCrd);
    if (hasNft()) await this.#enforcePolicies(nodes, authority, onCrash);
    const logs = (): string => [...this.#nodes.values()].map((node) => node.logTail()).join("\n");
    await nodesReady(controlPlane, nodes.length, (node) => node.ready, logs);
    const nodesReadyMs = this.#elapsedMs();
    await nodesReady(controlPlane, nodes.length, (node) => node.ready && node.schedulable, logs);
    return { kubeconfigText, timings: { apiServerMs, nodesReadyMs, schedulableMs: this.#elapsedMs() } };
  }

  async #enforcePolicies(nodes: readonly NodePlan[], authority: Authority, onCrash: (error: Error) => void) {
    const credentials = await authority.issue({
      commonName: "network",
      groups: ["system:masters"],
      usage: ["client"],
    });
    const client = clientOf({ apiServer: API_SERVER, caCertificate: authority.certificate, credentials });
    this.#enforcer = new Enforcer({ client, nodes, onCrash });
    await this.#enforcer.start(new AbortController().signal);
  }

  deniedConnections(): Promise<readonly DeniedConnection[]> {
    if (this.#enforcer === undefined) throw new Error("The nodes enforce no NetworkPolicies: there is no nft");
    return this.#enforcer.denied();
  }

  async #startNodes(
    nodes: readonly NodePlan[],
    plan: ClusterPlan,
    authority: Authority,
    directories: { readonly stateDirectory: string; readonly logDirectory: string },
    onCrash: (error: Error) => void,
  ): Promise<void> {
    const multusCredentials = await authority.issue({ commonName: MULTUS_USER, usage: ["client"] });
    await Promise.all(
      nodes.map(async (node) => {
        await ipBatch(nodeLinks(node, nodes), nodeNamespace(node));
        const process = new NodeProcess({
          ...directories,
          onCrash,
          config: {
            plan: node,
            apiServer: API_SERVER,
            caCertificate: authority.certificate,
            credentials: await nodeCredentials(authority, node),
            multusCredentials,
            logDirectory: directories.logDirectory,
            images: plan.images,
          },
        });
        this.#nodes.set(node.name, process);
        await process.start();
      }),
    );
  }

  node(name: string): NodeProcess {
    const node = this.#nodes.get(name);
    if (node === undefined) {
      throw new Error(`There is no node ${name}; there are ${[...this.#nodes.keys()].join(", ")}`);
    }
    return node;
  }

  get controlPlane(): ControlPlane {
    if (this.#controlPlane === undefined) throw new Error("The cluster has not started yet");
    return this.#controlPlane;
  }

  userKubeconfig(name: string, groups: readonly string[]): Promise<string> {
    return this.controlPlane.userKubeconfig(name, groups, this.#outsideUrl);
  }

  #elapsedMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}

const nodeCredentials = (authority: Authority, node: NodePlan): Promise<KeyPair> =>
  authority.issue({
    commonName: `system:node:${node.name}`,
    groups: ["system:nodes"],
    dnsNames: [node.name],
    addresses: [node.address],
    usage: ["client", "server"],
  });

/** Connections of the listener that cluster.ts opened on the machine's loopback go to the API server in here. */
function forwardToApiServer(listener: Server): void {
  listener.on("connection", (outside) => pipeSockets(outside, connect(API_SERVER_PORT, CONTROL_PLANE_ADDRESS)));
}

const supervisor = new Supervisor();
const methods: SupervisorMethods = {
  start: (plan) => supervisor.start(plan),
  exec: async ({ node, ...call }) => await supervisor.node(node).call("exec", call),
  execInPod: async ({ node, ...call }) => await supervisor.node(node).call("execInPod", call),
  userKubeconfig: ({ name, groups }) => supervisor.userKubeconfig(name, groups),
  deniedConnections: () => supervisor.deniedConnections(),
  killApiServer: () => supervisor.controlPlane.killApiServer(),
  restartApiServer: () => supervisor.controlPlane.restartApiServer(),
  powerOff: async ({ node }) => await supervisor.node(node).powerOff(),
  powerOn: async ({ node }) => await supervisor.node(node).start(),
};
serveCalls(methods, forwardToApiServer);

interface NodeState {
  readonly ready: boolean;
  /** No taint keeps pods away. */
  readonly schedulable: boolean;
}

async function nodesReady(
  controlPlane: ControlPlane,
  count: number,
  accept: (node: NodeState) => boolean,
  logs: () => string,
): Promise<void> {
  let last = "none registered";
  const check = async (): Promise<boolean> => {
    const answer = await controlPlane.request("GET", "/api/v1/nodes");
    if (answer?.status !== 200) return false;
    const nodes = (JSON.parse(answer.body) as { items: readonly Node[] }).items;
    const accepted = nodes.filter((node) => accept(stateOf(node)));
    last = nodes.map((node) => `${node.metadata.name} ${JSON.stringify(stateOf(node))}`).join(", ") || last;
    return accepted.length === count;
  };
  await waitUntil("nodes", check, READY_LIMIT_MS * patience(), controlPlane.failed).catch((error: unknown) => {
    throw new Error(`${count} nodes Ready: ${error instanceof Error ? error.message : error}; ${last}\n${logs()}`);
  });
}

function stateOf(node: Node): NodeState {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
  return { ready, schedulable: (node.spec?.taints ?? []).length === 0 };
}
