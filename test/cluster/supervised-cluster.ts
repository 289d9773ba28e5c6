/**
 * A cluster as its supervisor has it, inside the namespaces: the control plane, the nodes by name, and the way to the API
 * server from outside. supervisor.ts and test/e2e/node-supervisor.ts extend it; each serves its methods by `serve`.
 */
import { mkdir } from "node:fs/promises";
import { connect, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { type Methods, serveCalls } from "./channel.ts";
import { mustRun } from "./command.ts";
import type { Authority, KeyPair } from "./control-plane/authority.ts";
import type { ControlPlane } from "./control-plane/control-plane.ts";
import type { HeldMethods } from "./held-cluster.ts";
import { ipBatch } from "./ip-batch.ts";
import { multusAccount } from "./multus/account.ts";
import { nadCrd } from "./multus/nad-crd.ts";
import { CONTROL_PLANE_ADDRESS, clusterLinks, type NodePlan } from "./network-plan.ts";
import { plainEnv } from "./requirements.ts";

const API_SERVER_PORT = 443;
const ETCD_PORT = 2379;
export const API_SERVER = `https://${CONTROL_PLANE_ADDRESS}:${API_SERVER_PORT}`;

/** Where the control plane listens. */
export const ADDRESSES = {
  ...{ address: CONTROL_PLANE_ADDRESS, port: API_SERVER_PORT },
  ...{ etcdAddress: "127.0.0.1", etcdPort: ETCD_PORT, published: true },
};

export interface Directories {
  readonly stateDirectory: string;
  readonly logDirectory: string;
}

export abstract class SupervisedCluster<N> {
  protected readonly nodes = new Map<string, N>();
  protected outsideUrl = "";
  #controlPlane: ControlPlane | undefined;

  /** Network and directories. All state is on file systems that vanish with the namespaces. */
  protected async layOut(runDirectory: string, nodes: readonly NodePlan[]): Promise<Directories> {
    const [stateDirectory, logDirectory] = [join(runDirectory, "state"), join(runDirectory, "logs")];
    await mkdir(stateDirectory);
    await mkdir(logDirectory);
    await mustRun(["mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"], { env: plainEnv() });
    await mkdir("/run/netns");
    await ipBatch(clusterLinks(nodes));
    return { stateDirectory, logDirectory };
  }

  node(name: string): N {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`There is no node ${name}; there are ${[...this.nodes.keys()].join(", ")}`);
    return node;
  }

  get controlPlane(): ControlPlane {
    if (this.#controlPlane === undefined) throw new Error("The cluster has not started yet");
    return this.#controlPlane;
  }

  /** With what is in every cluster from its start: multus' account and the NetworkAttachmentDefinition kind. */
  protected async ready(controlPlane: ControlPlane): Promise<void> {
    this.#controlPlane = controlPlane;
    await Promise.all(
      ([...multusAccount, nadCrd] as readonly { readonly kind: string }[]).map(async (object) => {
        const answer = await controlPlane.request("POST", COLLECTIONS[object.kind] ?? "", object);
        if (answer?.status === 201) return;
        throw new Error(`${object.kind} not made: ${answer?.status ?? "no answer"} ${answer?.body ?? ""}`);
      }),
    );
  }

  /** Of an administrator outside, unless named. */
  kubeconfig(name = "admin", groups: readonly string[] = ["system:masters"]): Promise<string> {
    return this.controlPlane.userKubeconfig(name, groups, this.outsideUrl);
  }

  abstract powerOff(node: string): Promise<void>;
  abstract powerOn(node: string): Promise<void>;

  /** Does what it is told until the channel closes. */
  serve<M extends Methods<M>>(own: Omit<M, Exclude<keyof HeldMethods, "exec">>): void {
    const common: Omit<HeldMethods, "exec"> = {
      userKubeconfig: ({ name, groups }) => this.kubeconfig(name, groups),
      killApiServer: () => this.controlPlane.killApiServer(),
      restartApiServer: () => this.controlPlane.restartApiServer(),
      powerOff: ({ node }) => this.powerOff(node),
      powerOn: ({ node }) => this.powerOn(node),
    };
    serveCalls({ ...common, ...own } as unknown as M, forwardToApiServer);
  }
}

const COLLECTIONS: Readonly<Record<string, string>> = {
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  CustomResourceDefinition: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
};

export const kubeletCredentials = (authority: Authority, { name, address }: NodePlan): Promise<KeyPair> =>
  authority.issue({
    commonName: `system:node:${name}`,
    groups: ["system:nodes"],
    dnsNames: [name],
    addresses: [address],
    usage: ["client", "server"],
  });

/** Connections of the listener on the machine's loopback go to the API server in here. */
function forwardToApiServer(listener: Server): void {
  listener.on("connection", (outside) => pipeSockets(outside, connect(API_SERVER_PORT, CONTROL_PLANE_ADDRESS)));
}

/** Forwards a connection: what comes on one socket goes out on the other, and they end together. */
export function pipeSockets(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  one.on("error", () => other.destroy());
  other.on("error", () => one.destroy());
  one.on("close", () => other.destroy());
  other.on("close", () => one.destroy());
}
