/**
 * A large cluster with the product in it. Two process nodes run the product's pods as a user installs them; kwok plays the
 * kubelets of all other nodes, whose pods are reported as running and do nothing.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPlugins } from "../../cni-plugins/build/build.ts";
import { entryPoint } from "../../src/api/image.ts";
import { NETWORK_ADDONS_CONFIGS } from "../../src/api/kinds.ts";
import { DEFAULT_NAMESPACE, NETWORK_ADDONS_CONFIG_NAME, OPERATOR_NAME } from "../../src/api/names.ts";
import type { NetworkAddonsConfig } from "../../src/api/network-addons-config.ts";
import { isNotFound } from "../../src/kube/client/api-error.ts";
import type { DaemonSet } from "../../src/kube/client/built-in-kinds.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { LEASE_NAME } from "../../src/mac-pool/replica.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { fillCompileCache } from "../cluster/compile-cache.ts";
import type { Component } from "../cluster/control-plane/component.ts";
import { kubevirtCrds } from "../cluster/kubevirt/crds.ts";
import { eventually } from "../support/eventually.ts";
import { inFlight } from "../support/in-flight.ts";
import { LEASE_SECONDS, startKwok } from "../tools/kwok/kwok.ts";
import type { BenchContext } from "./bench.ts";
import { fakeNode, nodeName } from "./cluster-objects.ts";
import { findProcesses, type PodProcess } from "./cluster-processes.ts";
import { Requests } from "./cluster-requests.ts";

const RELEASE = join(import.meta.dirname, "../../deploy/release.yaml");
const CONFIGS: Resource<NetworkAddonsConfig> = NETWORK_ADDONS_CONFIGS;
const CONFIG = { name: NETWORK_ADDONS_CONFIG_NAME };
const REAL_NODES = ["real-a", "real-b"];
/** Keeps the product's Deployments on nodes where they run. */
const REAL = { "example.com/runs-pods": "true" };
const IN_FLIGHT = 32;
const LIMIT_MS = 60 * 60_000;

/** Renewals a second that two cores bear beside everything else; nothing of the product reads the nodes' leases. */
const RENEWALS = 80;
const RENEWED_PER_LEASE = 4;
const leaseSecondsOf = (nodes: number): number =>
  Math.max(LEASE_SECONDS, Math.ceil((nodes / RENEWALS) * RENEWED_PER_LEASE));

/** As clusters have them; the test cluster's own notice a lost node within seconds. */
const patience = (leaseSeconds: number): readonly string[] => [
  `--node-monitor-grace-period=${leaseSeconds + 10}s`,
  "--node-monitor-period=5s",
];

export class ClusterHarness implements AsyncDisposable {
  readonly admin: KubeClient;
  readonly requests: Requests;
  readonly #cluster: Cluster;
  readonly #kwok: Component;
  readonly #directory: string;

  private constructor(cluster: Cluster, kwok: Component, directory: string, admin: KubeClient, requests: Requests) {
    this.#cluster = cluster;
    this.#kwok = kwok;
    this.#directory = directory;
    this.admin = admin;
    this.requests = requests;
  }

  /** The operator is installed and ready; there is no NetworkAddonsConfig. */
  static async start(nodes: number, { log }: BenchContext): Promise<ClusterHarness> {
    await using started = new AsyncDisposableStack();
    await Promise.all([buildPlugins({ log }), fillCompileCache()]);
    const directory = await mkdtemp(join(tmpdir(), "cluster-bench-"));
    started.defer(() => rm(directory, { recursive: true, force: true }));
    const requests = await Requests.in(directory);
    const cluster = started.use(
      await startCluster({
        nodes: REAL_NODES.map((name) => ({ name })),
        controlPlane: {
          apiServerArguments: requests.apiServerArguments,
          controllerManagerArguments: patience(leaseSecondsOf(nodes)),
        },
        log,
      }),
    );
    const credentials = await credentialsFromKubeconfig(cluster.kubeconfig);
    const admin = started.use(new KubeClient({ credentials, maxInFlight: IN_FLIGHT }));
    for (const name of REAL_NODES) {
      await admin.patch(RESOURCES.nodes, { name }, { type: "merge", body: { metadata: { labels: REAL } } });
    }
    for (const crd of kubevirtCrds()) await admin.create(RESOURCES.crds, crd as never);
    await cluster.mustKubectl(["apply", "--server-side", "-f", RELEASE]);
    await cluster.mustKubectl([
      "rollout",
      "status",
      "-n",
      DEFAULT_NAMESPACE,
      `deployment/${OPERATOR_NAME}`,
      "--timeout=90s",
    ]);
    const kwok = started.use(await startKwok(cluster.kubeconfig, directory, log, leaseSecondsOf(nodes)));
    log(`${nodes} nodes: creating them`);
    await inParallel(nodes, (index) => admin.create(RESOURCES.nodes, fakeNode(index)));
    const harness = new ClusterHarness(cluster, kwok, directory, admin, requests);
    for (let index = 0; index < nodes; index++) {
      await harness.#until(`node ${index} of ${nodes} to take pods`, async () => {
        const { spec } = await admin.get(RESOURCES.nodes, { name: nodeName(index) });
        return (spec?.taints ?? []).length === 0;
      });
    }
    started.move();
    return harness;
  }

  async configure(): Promise<void> {
    const spec = { linuxBridge: {}, kubeMacPool: {}, placementConfiguration: { infra: { nodeSelector: REAL } } };
    await this.admin.create(CONFIGS, { metadata: CONFIG, spec } as never);
  }

  async untilAvailable(): Promise<void> {
    const isAvailable = ({ status }: NetworkAddonsConfig): boolean =>
      status?.conditions?.some((condition) => condition.type === "Available" && condition.status === "True") ?? false;
    await this.#until("Available", async () => isAvailable(await this.admin.get(CONFIGS, CONFIG)));
  }

  /** Every DaemonSet has an available pod on each node that takes pods; a busy kwok loses a few nodes. */
  async untilOnEveryNode(nodes: number): Promise<void> {
    await this.#until("a pod of each DaemonSet on every node", async () => {
      const { items } = await this.admin.list(RESOURCES.daemonSets, { namespace: DEFAULT_NAMESPACE });
      return items.length > 0 && items.every(({ status }) => isEverywhere(status, nodes));
    });
  }

  async remove(): Promise<void> {
    await this.admin.delete(CONFIGS, CONFIG);
    await this.#until("the end of the configuration", async () => {
      const config = await this.admin.get(CONFIGS, CONFIG).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
      return config === undefined;
    });
  }

  operator(): PodProcess {
    const [operator] = findProcesses(entryPoint("operator"));
    if (operator === undefined) throw new Error("the operator does not run");
    return operator;
  }

  /** The leader first. */
  async replicas(): Promise<readonly [PodProcess, PodProcess]> {
    return await eventually("two replicas of the MAC pool, of which one leads", async () => {
      const lease = await this.admin.get(RESOURCES.leases, { name: LEASE_NAME, namespace: DEFAULT_NAMESPACE });
      const found = findProcesses(entryPoint("mac-pool"));
      const leader = found.find(({ pod }) => pod === lease.spec?.holderIdentity);
      const other = found.find((replica) => replica !== leader);
      return found.length === 2 && leader !== undefined && other !== undefined && ([leader, other] as const);
    });
  }

  /** Deletes the pod of a replica, and resolves with the one that comes in its place once it is ready. */
  async replace(replica: PodProcess): Promise<PodProcess> {
    const ref = { name: replica.pod, namespace: DEFAULT_NAMESPACE };
    const known = findProcesses(entryPoint("mac-pool")).map(({ pod }) => pod);
    await this.admin.delete(RESOURCES.pods, ref);
    return await this.#until("a replica in place of the deleted one", async () => {
      const next = findProcesses(entryPoint("mac-pool")).find(({ pod }) => !known.includes(pod));
      if (next === undefined) return undefined;
      const { status } = await this.admin.get(RESOURCES.pods, { ...ref, name: next.pod });
      const ready = status?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
      return ready ? next : undefined;
    });
  }

  /** Every claim is bound, so the leader has nothing left to do. */
  async untilBound(claims: number): Promise<void> {
    const [leader] = await this.replicas();
    await this.#until(`${claims} bound claims`, async () => {
      const metrics = await leader.metrics();
      return metrics.includes(`kubevirt_macpool_claims{phase="Bound"} ${claims}\n`);
    });
  }

  async untilPodsRun(labelSelector: string): Promise<void> {
    await this.#until(`every pod ${labelSelector} to run`, async () => {
      const selected = { labelSelector, fieldSelector: "status.phase!=Running", limit: 1 };
      return (await this.admin.page(RESOURCES.pods, selected)).items.length === 0;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin[Symbol.asyncDispose]();
    await this.#kwok[Symbol.asyncDispose]();
    await this.#cluster[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #until<T>(what: string, probe: () => Promise<T>): Promise<Exclude<T, false | undefined>> {
    return eventually(what, probe, { limitMs: LIMIT_MS });
  }
}

const FEW_NODES_LOST = 0.9;

function isEverywhere(status: DaemonSet["status"], nodes: number): boolean {
  const { desiredNumberScheduled: desired = 0, numberAvailable = 0 } = status ?? {};
  return numberAvailable === desired && desired >= nodes * FEW_NODES_LOST;
}

/** Calls `work` with 0, 1, ..., so many at once as the API server bears. */
export async function inParallel(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  await inFlight(IN_FLIGHT, count, work);
}
