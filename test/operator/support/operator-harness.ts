/**
 * The release on a real control plane with its controllers and scheduler, and two nodes whose pods are reported as running.
 * The operator is not started. The API server notes what the operator asks for.
 */

import { rm } from "node:fs/promises";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../../src/kube/client/resource.ts";
import { APPLIED_KINDS } from "../../../src/operator/apply/applied-kinds.ts";
import { type Request, Requests } from "../../bench/cluster-requests.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane/control-plane.ts";
import { makeRunDirectory } from "../../cluster/run-directory.ts";
import { eventually } from "../../support/eventually.ts";
import { CERT_MANAGER_CRDS } from "./external-kinds.ts";
import { InstalledOperator, NAMESPACE } from "./installed-operator.ts";
import { Kubelets } from "./kubelets.ts";

export const NODES = ["node-a", "node-b"];
/** The socket of the runtime that the nodes tell of. */
export const CRI_SOCKET = "/run/containerd/containerd.sock";
/** Nobody renews the nodes' leases. */
const PATIENCE = "--node-monitor-grace-period=24h";

/** Whether it changes the cluster. A leader renews its Lease all the time, so that does not count. */
export const isWrite = ({ what }: Request): boolean =>
  /^(create|update|patch|delete) /.test(what) && !what.endsWith(" leases");

export class OperatorHarness implements AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly cluster: InstalledOperator;
  readonly requests: Requests;
  readonly #parts: AsyncDisposableStack;

  private constructor(
    controlPlane: ControlPlane,
    cluster: InstalledOperator,
    requests: Requests,
    parts: AsyncDisposableStack,
  ) {
    this.controlPlane = controlPlane;
    this.cluster = cluster;
    this.requests = requests;
    this.#parts = parts;
  }

  static async start(): Promise<OperatorHarness> {
    await using parts = new AsyncDisposableStack();
    const directory = await makeRunDirectory();
    parts.defer(() => rm(directory, { recursive: true, force: true }));
    const requests = await Requests.in(directory);
    const controlPlane = await startControlPlane({
      controllerManager: true,
      scheduler: true,
      apiServerArguments: requests.apiServerArguments,
      controllerManagerArguments: [PATIENCE],
    });
    parts.use(controlPlane);
    const cluster = parts.use(await InstalledOperator.install({ controlPlane }));
    for (const name of NODES) await cluster.admin.create(RESOURCES.nodes, node(name));
    for (const definition of CERT_MANAGER_CRDS) await cluster.admin.create(RESOURCES.crds, definition);
    await untilServed(cluster.admin);
    parts.use(new Kubelets(cluster.admin, NAMESPACE));
    return new OperatorHarness(controlPlane, cluster, requests, parts.move());
  }

  get admin(): KubeClient {
    return this.cluster.admin;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts[Symbol.asyncDispose]();
  }
}

/** A kind whose CRD is a moment old is refused, and an operator that starts in that moment waits up to two seconds for it. */
async function untilServed(admin: KubeClient): Promise<void> {
  for (const { resource } of APPLIED_KINDS.filter((kind) => kind.external)) {
    await eventually(`${resource.plural} are served`, async () => (await admin.list(resource)).items.length === 0);
  }
}

function node(name: string): KubeObject {
  const resources = { cpu: "64", memory: "256Gi", pods: "500", "ephemeral-storage": "1Ti" };
  return {
    metadata: { name, labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" } },
    status: {
      capacity: resources,
      allocatable: resources,
      conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: now(), lastTransitionTime: now() }],
      nodeInfo: { containerRuntimeVersion: "containerd://2.2.2", kubeletVersion: "v1.36.3" },
    },
  };
}

const now = (): string => `${new Date().toISOString().slice(0, 19)}Z`;
