/**
 * Bridges of real nodes: what kubelet makes of the marker's resources, and where the scheduler puts pods and VMs. Kubelets
 * report at their default pace, in which the scheduler learns of a bridge.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { IMAGE_NODE } from "../../src/api/image.ts";
import { VIRTUAL_MACHINE_INSTANCES } from "../../src/api/kinds.ts";
import { BRIDGE_MARKER, BRIDGE_RESOURCE_PREFIX, DEFAULT_NAMESPACE, NETWORKS_ANNOTATION } from "../../src/api/names.ts";
import type { Node, Pod } from "../../src/kube/client/built-in-kinds.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { attachmentDefinition, NAD_NAME, virtualMachine } from "../cluster/demo/objects.ts";
import { installKubevirt } from "../cluster/kubevirt/install.ts";
import { LAUNCHER_IMAGE } from "../cluster/kubevirt/launcher-pod.ts";
import type { VirtualMachineInstance } from "../cluster/kubevirt/virtual-machine.ts";
import { manifest } from "../cluster/test-pods.ts";
import { eventually } from "../support/eventually.ts";
import { GUEST_IMAGE } from "./images/test-images.ts";
import { InstalledProduct } from "./installed-product.ts";
import { KUBERNETES_DIRECTORY } from "./node-config.ts";
import { noRealNodes } from "./real-nodes.ts";
import { runPod, testPod } from "./test-pod.ts";

const INSTANCES = VIRTUAL_MACHINE_INSTANCES as Resource<VirtualMachineInstance & KubeObject>;
const BR1 = `${BRIDGE_RESOURCE_PREFIX}br1`;
const NODES = ["n1", "n2"] as const;
type NodeName = (typeof NODES)[number];
/** The building of the image takes most of it. */
const SETUP_LIMIT_MS = 900_000;
const LIMIT = { limitMs: 120_000 };
const PODS = 4;

const KUBELET_CONFIG = `${KUBERNETES_DIRECTORY}/kubelet.json`;
/** Kubernetes' default, and leases so often that a node is not taken for dead between two reports. */
const DEFAULT_PACE = { nodeStatusUpdateFrequency: "10s", nodeLeaseDurationSeconds: 4 };
const LIST_DEVICES = "console.log(JSON.stringify(require('fs').readdirSync('/sys/class/net')))";

describe.skipIf(await noRealNodes())("real nodes with a bridge", () => {
  const stack = new AsyncDisposableStack();
  let product: InstalledProduct;

  beforeAll(async () => {
    product = stack.use(await InstalledProduct.prepare([{ name: "n1", bridges: ["br1"] }, { name: "n2" }]));
    for (const node of NODES) {
      await setPace(node);
      await product.cluster.mustExec(node, ["ctr", "images", "tag", GUEST_IMAGE, LAUNCHER_IMAGE]);
    }
    stack.use(await installKubevirt(product.cluster.kubeconfig));
    await product.install();
    await product.cluster.mustKubectl(["create", "-f", "-"], manifest(attachmentDefinition()));
    await eventually("the webhook knows the network", async () => {
      const { spec } = await product.client.create(RESOURCES.pods, asking("first"), { dryRun: true });
      return spec?.containers[0]?.resources?.requests?.[BR1] === "1";
    });
  }, SETUP_LIMIT_MS);

  afterAll(() => stack.disposeAsync());

  async function setPace(node: NodeName): Promise<void> {
    const config = JSON.parse(await product.cluster.mustExec(node, ["cat", KUBELET_CONFIG]));
    const changed = JSON.stringify({ ...config, ...DEFAULT_PACE });
    await product.cluster.mustExec(node, ["sh", "-c", `cat > ${KUBELET_CONFIG}`], changed);
    await product.cluster.restartService(node, "kubelet");
    await product.cluster.nodeReady(node);
  }

  const annotations = { [NETWORKS_ANNOTATION]: NAD_NAME };
  const asking = (name: string) => testPod({ name, annotations });
  const pod = (name: string): Promise<Pod> => product.client.get(RESOURCES.pods, { namespace: "default", name });
  const node = (name: NodeName): Promise<Node> => product.client.get(RESOURCES.nodes, { name });
  const isRunning = async (name: string): Promise<boolean> => (await pod(name)).status?.phase === "Running";

  /** How long after `startedAt` a node has or lacks br1, first in its capacity and then in what is allocatable. */
  async function follow(name: NodeName, amount: string | undefined, startedAt: number): Promise<string> {
    const times: string[] = [];
    for (const field of ["capacity", "allocatable"] as const) {
      const isThere = async () => (await node(name)).status?.[field]?.[BR1] === amount;
      await eventually(`${field} of br1 on ${name} to be ${amount}`, isThere, LIMIT);
      times.push(`${field} after ${Math.round(performance.now() - startedAt)} ms`);
    }
    return times.join(", ");
  }

  it("get the pods and VMs that need it, and nodes without it get none", async () => {
    const names = Array.from({ length: PODS }, (_, index) => `pod-${index}`);
    const pods = await Promise.all(names.map((name) => runPod(product.client, { name, annotations })));
    expect(pods.map(({ spec }) => spec?.nodeName)).toEqual(names.map(() => "n1"));
    await product.cluster.mustKubectl(["create", "-f", "-"], manifest(virtualMachine("web")));
    const web = { namespace: "default", name: "web" };
    const instance = await eventually(
      "the VM to run",
      async () => {
        const found = await product.client.get(INSTANCES, web);
        return found.status?.phase === "Running" && found;
      },
      LIMIT,
    );
    expect(instance.status?.nodeName).toBe("n1");
  });

  it("name it in their description", async () => {
    const description = await product.cluster.mustKubectl(["describe", "node", "n1"]);
    console.log(description.slice(description.indexOf("Capacity:"), description.indexOf("System Info:")));
    console.log(description.slice(description.indexOf("Allocated resources:"), description.indexOf("Events:")));
    expect(description.match(/bridge\.network\.kubevirt\.io\/br1: +1k/g)).toHaveLength(2);
    expect(await product.cluster.mustKubectl(["describe", "node", "n2"])).not.toContain(BRIDGE_RESOURCE_PREFIX);
  });

  it("show their interfaces to the marker, which tells virtual functions from others by sysfs", async () => {
    const marker = (await product.pods()).find(
      ({ metadata, spec }) => metadata.labels?.name === BRIDGE_MARKER && spec?.nodeName === "n1",
    );
    const run = ["exec", `--namespace=${DEFAULT_NAMESPACE}`, marker?.metadata.name ?? "", "--"];
    const seen = JSON.parse(await product.cluster.mustKubectl([...run, IMAGE_NODE, "-e", LIST_DEVICES]));
    expect(seen).toContain("br1");
  });

  it("keep their pods when it is removed, and get no others", async () => {
    const startedAt = performance.now();
    await product.cluster.mustExec("n1", ["ip", "link", "del", "br1"]);
    console.log(`br1 removed: ${await follow("n1", undefined, startedAt)}`);
    await product.client.create(RESOURCES.pods, asking("late"));
    const waits = async () =>
      (await pod("late")).status?.conditions?.some(({ message }) => message?.includes(`Insufficient ${BR1}`));
    await eventually("the pod to wait for the bridge", waits, LIMIT);
    expect(await isRunning("pod-0")).toBe(true);
  });

  it("get the pod that waits for it when it is added", async () => {
    const startedAt = performance.now();
    await product.cluster.mustExec("n2", ["ip", "link", "add", "br1", "type", "bridge"]);
    const followed = await follow("n2", "1k", startedAt);
    await eventually("the pod to be scheduled", async () => (await pod("late")).spec?.nodeName === "n2", LIMIT);
    console.log(`br1 added: ${followed}, pod scheduled after ${Math.round(performance.now() - startedAt)} ms`);
    await eventually("the pod to run", () => isRunning("late"), LIMIT);
  });

  async function startKubeletAnew(name: NodeName): Promise<void> {
    await product.cluster.restartService(name, "kubelet");
    await product.cluster.nodeReady(name);
  }

  it("keep it and their pods when their kubelet is killed, and get further ones", async () => {
    await startKubeletAnew("n2");
    await follow("n2", "1k", performance.now());
    expect(await isRunning("late")).toBe(true);
    expect((await runPod(product.client, { name: "after", annotations })).spec?.nodeName).toBe("n2");
  });

  it("get it again when they are deleted and their kubelet registers them anew", async () => {
    const { metadata } = await node("n2");
    await product.cluster.mustKubectl(["delete", "node", "n2"]);
    await startKubeletAnew("n2");
    expect((await node("n2")).metadata.uid).not.toBe(metadata.uid);
    console.log(`n2 registered anew: ${await follow("n2", "1k", performance.now())}`);
  });
});
