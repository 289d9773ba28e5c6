import { rm, symlink } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { DEFAULT_NAMESPACE, OPERATOR_NAME } from "../../../src/api/names.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { eventually } from "../../support/eventually.ts";
import { type Cluster, startCluster } from "../cluster.ts";
import { runCommand } from "../command.ts";
import { ETCD_VERSION, KUBERNETES_VERSION } from "../control-plane/binaries.ts";
import { installKubevirt } from "../kubevirt/install.ts";
import { plainEnv } from "../requirements.ts";
import { makeRunDirectory } from "../run-directory.ts";
import { type DemoCluster, kubectl } from "./demo-cluster.ts";
import { NODE_A, NODE_B } from "./objects.ts";
import { type Prepared, REPOSITORY } from "./prepare.ts";
import type { Screen } from "./screen.ts";

const RELEASE = join(REPOSITORY, "deploy", "release.yaml");
const OPERATOR_LIMIT_MS = 60_000;

/** A running cluster with KubeVirt's kinds and the product's operator, before anything is configured. */
export interface InstalledDemo extends AsyncDisposable {
  readonly demo: DemoCluster;
  /** A folder for the PATH: kubectl of the cluster's version, and `kubectl macpool`. */
  readonly tools: string;
  /** How long each part took. */
  readonly timings: Readonly<Record<string, number>>;
}

export async function open(
  prepared: Prepared,
  screen: Screen,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<InstalledDemo> {
  await using owned = new AsyncDisposableStack();
  const timings: Record<string, number> = {};
  const cluster = owned.use(await startNodes(screen, timings));
  signal.throwIfAborted();
  const client = owned.use(await cluster.client());
  const tools = await toolFolder(prepared);
  owned.defer(() => rm(tools, { recursive: true, force: true }));
  const env = plainEnv({
    KUBECONFIG: cluster.kubeconfig,
    HOME: tools,
    PATH: [tools, dirname(process.execPath), plainEnv().PATH].join(delimiter),
  });
  const demo: DemoCluster = {
    cluster,
    client,
    macpool: (args) => runCommand([prepared.binaries.kubectl, "macpool", ...args], { env }),
    note,
  };
  await install(demo, screen, timings, signal, owned);
  const kept = owned.move();
  return { demo, tools, timings, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function startNodes(screen: Screen, timings: Record<string, number>): Promise<Cluster> {
  screen.progress("cluster", "etcd, API server, controller-manager, scheduler, two nodes");
  const startedMs = performance.now();
  const cluster = await startCluster({ nodes: [{ name: NODE_A, bridges: ["br1"] }, { name: NODE_B }] });
  timings.clusterMs = Math.round(performance.now() - startedMs);
  screen.end({
    label: "cluster",
    text: `Kubernetes ${KUBERNETES_VERSION}, etcd ${ETCD_VERSION}; ${NODE_A} (br1), ${NODE_B}`,
    status: "ready",
    good: true,
    ms: timings.clusterMs,
  });
  return cluster;
}

async function install(
  demo: DemoCluster,
  screen: Screen,
  timings: Record<string, number>,
  signal: AbortSignal,
  owned: AsyncDisposableStack,
): Promise<void> {
  screen.progress("install", "KubeVirt's kinds; kubectl apply --server-side -f deploy/release.yaml");
  const startedMs = performance.now();
  const [kubevirt, applied] = await Promise.all([
    installKubevirt(demo.cluster.kubeconfig),
    kubectl(demo, ["apply", "--server-side", "-f", RELEASE]),
  ]);
  owned.use(kubevirt);
  const objects = applied.split("\n").filter((line) => line !== "").length;
  await eventually(
    "the operator to be ready",
    async () => {
      const ref = { name: OPERATOR_NAME, namespace: DEFAULT_NAMESPACE };
      return ((await demo.client.get(RESOURCES.deployments, ref)).status?.readyReplicas ?? 0) > 0;
    },
    { limitMs: OPERATOR_LIMIT_MS, signal },
  );
  timings.installMs = Math.round(performance.now() - startedMs);
  screen.end({
    label: "install",
    text: `kubectl apply --server-side -f deploy/release.yaml: ${objects} objects, operator ready`,
    status: "ready",
    good: true,
    ms: timings.installMs,
  });
}

/** As a user has it: two executables in a folder of the PATH. With a Node that is new enough, whatever the machine has. */
async function toolFolder({ binaries, cli }: Prepared): Promise<string> {
  const folder = await makeRunDirectory();
  await symlink(binaries.kubectl, join(folder, "kubectl"));
  await symlink(cli, join(folder, "kubectl-macpool"));
  await symlink(process.execPath, join(folder, "node"));
  return folder;
}
