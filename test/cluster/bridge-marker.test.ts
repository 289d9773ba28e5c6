import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { VIRTUAL_MACHINE_INSTANCES } from "../../src/api/kinds.ts";
import {
  BRIDGE_MARKER,
  DEFAULT_NAMESPACE,
  NAD_RESOURCE_NAME_ANNOTATION,
  NETWORKS_ANNOTATION,
} from "../../src/api/names.ts";
import type { Pod } from "../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../src/kube/client/resource.ts";
import { eventually } from "../support/eventually.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { attachmentDefinition, NAD_NAME, NAMESPACE, networkAddonsConfig, virtualMachine } from "./demo/objects.ts";
import { installKubevirt } from "./kubevirt/install.ts";
import type { VirtualMachineInstance } from "./kubevirt/virtual-machine.ts";
import * as product from "./product.ts";
import { testPod } from "./test-pods.ts";

const INSTANCES = VIRTUAL_MACHINE_INSTANCES as Resource<VirtualMachineInstance & KubeObject>;
const LIMIT = { limitMs: 60_000 };
const BR1 = "bridge.network.kubevirt.io/br1";
const PODS_A_NODE = 3;
const SCHEDULED_WITHIN_MS = 2000;

const LAYOUTS = [
  { nodes: [{ name: "node-a", bridges: ["br1"] }, { name: "node-b" }] },
  {
    nodes: [
      { name: "node-a", bridges: ["br1"] },
      { name: "node-b" },
      { name: "node-c", bridges: ["br1", "br2"] },
      { name: "node-d", bridges: ["br2"] },
      { name: "node-e", bridges: ["br1"] },
    ],
  },
] as const;

/** One story: the tests follow each other on one cluster. */
describe.each(LAYOUTS)(
  "in a cluster of $nodes.length nodes, pods that need a bridge",
  { timeout: 300_000 },
  ({ nodes }) => {
    const withBridge = nodes.filter(({ name }) => name !== "node-b" && name !== "node-d").map(({ name }) => name);
    let cluster: Cluster;
    let client: KubeClient;
    let kubevirt: AsyncDisposable;

    beforeAll(async () => {
      cluster = await startCluster({ nodes });
      client = await cluster.client();
      kubevirt = await installKubevirt(cluster.kubeconfig);
      await product.install(cluster);
      await apply(networkAddonsConfig({ linuxBridge: {} }));
      await product.available(client);
      await apply(attachmentDefinition());
    }, 300_000);
    afterAll(async () => {
      await kubevirt?.[Symbol.asyncDispose]();
      await client?.[Symbol.asyncDispose]();
      await cluster?.[Symbol.asyncDispose]();
    });

    const kubectl = (...args: readonly string[]) => product.kubectl(cluster, ...args);

    const apply = (...objects: readonly object[]) => product.apply(cluster, ...objects);

    const ip = (node: string, ...args: readonly string[]): Promise<string> =>
      cluster.mustExec(node, ["ip", "link", ...args]);

    const podAsking = (name: string): object =>
      testPod({ name, annotations: { [NETWORKS_ANNOTATION]: NAD_NAME }, labels: { asks: "br1" } });
    const pod = (name: string): Promise<Pod> => client.get(RESOURCES.pods, { namespace: NAMESPACE, name });
    const isRunning = async (name: string): Promise<boolean> => (await pod(name)).status?.phase === "Running";
    const scheduled = ({ status }: Pod) => status?.conditions?.find(({ type }) => type === "PodScheduled");
    const allocatable = async (node: string): Promise<string | undefined> =>
      (await client.get(RESOURCES.nodes, { name: node })).status?.allocatable?.[BR1];

    it("run only on nodes that have it, VMs too", async () => {
      const names = Array.from({ length: PODS_A_NODE * nodes.length }, (_, index) => `pod-${index}`);
      await apply(...names.map(podAsking), virtualMachine("web"));
      for (const name of names) await eventually(`${name} to run`, () => isRunning(name), LIMIT);
      const places = await Promise.all(names.map(async (name) => (await pod(name)).spec?.nodeName ?? ""));
      expect(withBridge).toEqual(expect.arrayContaining(places));
      expect(new Set(places)).toEqual(new Set(withBridge));
      const web = { namespace: NAMESPACE, name: "web" };
      await eventually(
        "the VM to run",
        async () => (await client.get(INSTANCES, web)).status?.phase === "Running",
        LIMIT,
      );
      expect(withBridge).toContain((await client.get(INSTANCES, web)).status?.nodeName);
    });

    it("see it in the description of the node", async () => {
      const description = await kubectl("describe", "node", "node-a");
      expect(description.match(/bridge\.network\.kubevirt\.io\/br1: +1k/g)).toHaveLength(2);
      expect(await kubectl("describe", "node", "node-b")).not.toContain("bridge.network.kubevirt.io");
    });

    it("stay when it is removed under them, and others wait", async () => {
      for (const node of withBridge) await ip(node, "del", "br1");
      for (const node of withBridge)
        await eventually(`${node} to take br1 back`, async () => (await allocatable(node)) === undefined, LIMIT);
      expect(await isRunning("pod-0")).toBe(true);
      await apply(podAsking("late"));
      const waits = async () => scheduled(await pod("late"))?.message?.includes(`Insufficient ${BR1}`);
      await eventually("the pod to wait for the bridge", waits, LIMIT);
    });

    it("are scheduled within two seconds when a node gets it, where kubelet reports at once", async () => {
      const startedAt = performance.now();
      await ip("node-b", "add", "br1", "type", "bridge");
      await eventually("the pod to be scheduled", async () => (await pod("late")).spec?.nodeName === "node-b", LIMIT);
      const ms = Math.round(performance.now() - startedAt);
      console.log(`scheduled ${ms} ms after ip link add`);
      expect(ms).toBeLessThan(SCHEDULED_WITHIN_MS);
      await eventually("the pod to run", () => isRunning("late"), LIMIT);
    });

    it("find it again after its marker was killed, and its node has lost the value", async () => {
      const markers = await client.list(RESOURCES.pods, {
        namespace: DEFAULT_NAMESPACE,
        labelSelector: `name=${BRIDGE_MARKER}`,
      });
      const marker = markers.items.find(({ spec }) => spec?.nodeName === "node-b");
      const body = { status: { capacity: { [BR1]: "0" } } };
      await kubectl(
        "delete",
        "pod",
        "-n",
        DEFAULT_NAMESPACE,
        marker?.metadata.name ?? "",
        "--grace-period=0",
        "--force",
      );
      await client.patch(RESOURCES.nodes, { name: "node-b" }, { type: "merge", body }, { subresource: "status" });
      const capacity = async () => (await client.get(RESOURCES.nodes, { name: "node-b" })).status?.capacity?.[BR1];
      await eventually("the value to be back", async () => (await capacity()) === "1k", LIMIT);
      await eventually("the scheduler to see it", async () => (await allocatable("node-b")) === "1k", LIMIT);
    });

    it("are scheduled to it though their network is deleted meanwhile, and start when the network is there again", async () => {
      const resource = "bridge.network.kubevirt.io/br9";
      const network = {
        apiVersion: "k8s.cni.cncf.io/v1",
        kind: "NetworkAttachmentDefinition",
        metadata: { name: "br9-net", namespace: NAMESPACE, annotations: { [NAD_RESOURCE_NAME_ANNOTATION]: resource } },
        spec: { config: JSON.stringify({ cniVersion: "0.3.1", type: "cnv-bridge", bridge: "br9" }) },
      };
      await apply(network);
      await apply(testPod({ name: "orphan", annotations: { [NETWORKS_ANNOTATION]: "br9-net" } }));
      const waits = async () => scheduled(await pod("orphan"))?.message?.includes(`Insufficient ${resource}`);
      await eventually("the pod to wait for the bridge", waits, LIMIT);
      await kubectl("delete", "net-attach-def", "br9-net", "-n", NAMESPACE);
      await ip("node-b", "add", "br9", "type", "bridge");
      const events = (): Promise<string> =>
        kubectl("get", "events.events.k8s.io", "-n", NAMESPACE, "-o", "jsonpath={.items[*].note}");
      const absent = "cannot find a network-attachment-definition (br9-net)";
      await eventually("multus to miss the network", async () => (await events()).includes(absent), LIMIT);
      expect((await pod("orphan")).spec?.nodeName).toBe("node-b");
      expect(await isRunning("orphan")).toBe(false);
      await apply(network);
      await eventually("the pod to run", () => isRunning("orphan"), LIMIT);
    });
  },
);
