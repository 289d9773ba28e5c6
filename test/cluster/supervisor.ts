/**
 * Runs a cluster from inside its namespaces, as the only child of their pid 1: network, control plane, nodes. Started by
 * cluster.ts, told what to do over the channel, and ended with it: when the channel closes this process ends, pid 1
 * with it, and the kernel ends and removes everything else.
 */
import { join } from "node:path";
import type { Node } from "../../src/kube/client/built-in-kinds.ts";
import { patience } from "../support/patience.ts";
import { sendNotice } from "./channel.ts";
import { type CommandResult, mustRun } from "./command.ts";
import { Authority } from "./control-plane/authority.ts";
import type { Binaries } from "./control-plane/binaries.ts";
import { type ControlPlane, type ControlPlaneArguments, startControlPlane } from "./control-plane/control-plane.ts";
import { waitUntil } from "./control-plane/readiness.ts";
import type { HeldMethods } from "./held-cluster.ts";
import { ipBatch } from "./ip-batch.ts";
import { MULTUS_USER } from "./multus/account.ts";
import { type NodeOptions, type NodePlan, nodeLinks, nodeNamespace, planNodes } from "./network-plan.ts";
import { type DeniedConnection, Enforcer } from "./network-policy/enforcer.ts";
import { NodeProcess } from "./node-process.ts";
import { clientOf } from "./process-node/node-client.ts";
import { hasNft, plainEnv } from "./requirements.ts";
import {
  ADDRESSES,
  API_SERVER,
  type Directories,
  kubeletCredentials,
  SupervisedCluster,
} from "./supervised-cluster.ts";

export interface ClusterPlan {
  readonly runDirectory: string;
  readonly binaries: Binaries;
  readonly nodes: readonly NodeOptions[];
  readonly images: Readonly<Record<string, string>>;
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

export interface SupervisorMethods extends HeldMethods {
  start(plan: ClusterPlan): Promise<{ readonly kubeconfigText: string; readonly timings: ClusterTimings }>;
  execInPod(call: { node: string; namespace: string; pod: string; argv: readonly string[] }): Promise<CommandResult>;
  deniedConnections(call: null): Promise<readonly DeniedConnection[]>;
}

/** Of all nodes, on an idle machine. */
const READY_LIMIT_MS = 20_000;

class Supervisor extends SupervisedCluster<NodeProcess> {
  readonly #startedAt = performance.now();
  #enforcer: Enforcer | undefined;

  async start(plan: ClusterPlan): ReturnType<SupervisorMethods["start"]> {
    const nodes = planNodes(plan.nodes);
    this.outsideUrl = plan.outsideUrl;
    const directories = await this.layOut(plan.runDirectory, nodes);
    const { stateDirectory, logDirectory } = directories;
    await mustRun(["mount", "-t", "tmpfs", "-o", "mode=700", "state", stateDirectory], { env: plainEnv() });

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
      addresses: ADDRESSES,
      onCrash,
    });
    const nodesStart = this.#startNodes(nodes, plan, authority, directories, onCrash);
    const [controlPlane] = await Promise.all([controlPlaneStarts, nodesStart]);
    const apiServerMs = this.#elapsedMs();
    await this.ready(controlPlane);
    const kubeconfigText = await this.kubeconfig();
    if (hasNft()) await this.#enforcePolicies(nodes, authority, onCrash);
    const logs = (): string => [...this.nodes.values()].map((node) => node.logTail()).join("\n");
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
    directories: Directories,
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
            credentials: await kubeletCredentials(authority, node),
            multusCredentials,
            logDirectory: directories.logDirectory,
            images: plan.images,
          },
        });
        this.nodes.set(node.name, process);
        await process.start();
      }),
    );
  }

  powerOff(name: string): Promise<void> {
    return this.node(name).powerOff();
  }

  powerOn(name: string): Promise<void> {
    return this.node(name).start();
  }

  #elapsedMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}

const supervisor = new Supervisor();
supervisor.serve<SupervisorMethods>({
  start: (plan) => supervisor.start(plan),
  exec: async ({ node, ...call }) => await supervisor.node(node).call("exec", call),
  execInPod: async ({ node, ...call }) => await supervisor.node(node).call("execInPod", call),
  deniedConnections: () => supervisor.deniedConnections(),
});

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
