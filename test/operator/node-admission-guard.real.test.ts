import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPERATOR_NAME } from "../../src/api/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { DEFAULT_SETTINGS } from "../../src/operator/config/settings.ts";
import { issueToken } from "../mac-pool/account.ts";
import { eventually } from "../support/eventually.ts";
import { InstalledOperator, NAMESPACE } from "./support/installed-operator.ts";

/** Writes to a node's status that its markers and the operator may and may not make: one table for the guard's test. */

const MARKER = "bridge-marker";
const OVS_MARKER = "ovs-cni-marker";
const BRIDGE = "bridge.network.kubevirt.io/";
const OVS = "ovs-cni.network.kubevirt.io/";

/** Account, and the node that its token names. */
const WRITERS = {
  marker: { account: MARKER, node: "node-a" },
  "marker without a node": { account: MARKER, node: undefined },
  "marker of a new node": { account: MARKER, node: "node-c" },
  "ovs marker": { account: OVS_MARKER, node: "node-a" },
  "ovs marker without a node": { account: OVS_MARKER, node: undefined },
  operator: { account: OPERATOR_NAME, node: "node-a" },
} as const;

type Writer = keyof typeof WRITERS;

interface NodeWrite {
  readonly what: string;
  readonly writer: Writer;
  readonly node: string;
  readonly contentType: string;
  readonly body: object;
  /** Part of the refusal; undefined: it is allowed. */
  readonly refusal: string | undefined;
}

/** Of the nodes that are written to. As many images, with names as long, as a node may have. */
const NODE_STATUS = {
  capacity: { cpu: "4", memory: "8Gi", "example.com/gpu": "2", [`${BRIDGE}old`]: "1k", [`${OVS}old`]: "1k" },
  allocatable: { cpu: "4", memory: "8Gi", [`${BRIDGE}old`]: "1k" },
  conditions: [{ type: "Ready", status: "True", reason: "KubeletReady", message: "ok" }],
  addresses: [{ type: "InternalIP", address: "192.0.2.1" }],
  daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
  nodeInfo: {
    ...{ machineID: "m", systemUUID: "s", bootID: "b", kernelVersion: "6.12", osImage: "Debian" },
    ...{ containerRuntimeVersion: "containerd://2", kubeletVersion: "v1.36.3", kubeProxyVersion: "" },
    ...{ operatingSystem: "linux", architecture: "amd64" },
  },
  images: Array.from({ length: 50 }, (_, index) => ({
    names: [`registry.example/${"n".repeat(100)}/${index}@sha256:${"0".repeat(64)}`, `registry.example/${index}:v1`],
    sizeBytes: index,
  })),
  volumesInUse: ["kubernetes.io/csi/disk^one"],
  runtimeHandlers: [{ name: "runc", features: { userNamespaces: true } }],
};

const MERGE = "application/merge-patch+json";
const JSON_PATCH = { contentType: "application/json-patch+json" };
const STRATEGIC = { contentType: "application/strategic-merge-patch+json" };
const APPLY = { contentType: "application/apply-patch+yaml" };
const ELSEWHERE = { node: "node-b" };
/** Kubelet has set no capacity there yet, and nothing allocatable. */
const ON_NEW_NODE = { writer: "marker of a new node", node: "node-c" } as const;

const NOT_ITS_NODE = "may change the status of its own node only, with a token that names the node";
const NOT_A_BRIDGE = `${MARKER} may change resources of ${BRIDGE} only`;
const NOT_CAPACITY = "may change capacity only: no metadata and no other field of a node's status";
const NOT_AN_OVS_BRIDGE = `${OVS_MARKER} may change resources of ${OVS} only`;
const HANDED_ON = "has this right only to hand it on to its components";

const ready = (status: string): object => ({ conditions: [{ type: "Ready", status }] });
const owner = { apiVersion: "v1", kind: "Namespace", name: "default", uid: "11111111-2222-3333-4444-555555555555" };
const applied = { apiVersion: "v1", kind: "Node", metadata: { name: "node-a", labels: { a: "b" } } };

type More = Partial<Pick<NodeWrite, "writer" | "node" | "contentType">>;

function write(what: string, body: object, refusal: string | undefined, more: More): NodeWrite {
  return { what, body, refusal, writer: "marker", node: "node-a", contentType: MERGE, ...more };
}

const bridges = (prefix: string, values: object): object =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));
const publish = (what: string, values: object, more: More = {}, refusal?: string): NodeWrite =>
  write(what, { status: { capacity: bridges(BRIDGE, values) } }, refusal, more);
const publishOvs = (what: string, values: object, more: More, refusal?: string): NodeWrite =>
  write(what, { status: { capacity: bridges(OVS, values) } }, refusal, more);
const capacity = (what: string, values: object | null): NodeWrite =>
  write(what, { status: { capacity: values } }, NOT_A_BRIDGE, {});
const status = (what: string, fields: object, more: More = {}): NodeWrite =>
  write(what, { status: fields }, NOT_CAPACITY, more);
const metadata = (what: string, fields: object): NodeWrite => write(what, { metadata: fields }, NOT_CAPACITY, {});

const NODE_WRITES: readonly NodeWrite[] = [
  publish("publish a bridge", { br1: "1k" }),
  publish("publish two and take one back", { br2: "1k", br3: "1k", br1: null }),
  publish("repair a value", { old: "7" }),
  publish("take all back", { old: null, br2: null, br3: null }),
  publish("publish by strategic merge patch", { br5: "1k" }, STRATEGIC),
  write(
    "publish by JSON patch",
    [{ op: "add", path: "/status/capacity/bridge.network.kubevirt.io~1br4", value: "1k" }],
    undefined,
    JSON_PATCH,
  ),
  publish("publish on another node", { br1: "1k" }, ELSEWHERE, NOT_ITS_NODE),
  publish("take back on another node", { old: null }, ELSEWHERE, NOT_ITS_NODE),
  publish("publish a bridge", { br6: "1k" }, { writer: "marker without a node" }, NOT_ITS_NODE),
  publish("change nothing", {}, { writer: "marker without a node" }, NOT_ITS_NODE),
  publish("publish the first resource of a node without allocatable", { br1: "1k" }, ON_NEW_NODE),

  capacity("grow the memory", { memory: "512Gi" }),
  capacity("take the GPUs away", { "example.com/gpu": null }),
  capacity("invent a device", { "example.com/fpga": "8" }),
  capacity("publish for the ovs marker", { [`${OVS}br1`]: "1k" }),
  capacity("hide a device behind a bridge", { [`${BRIDGE}br7`]: "1k", "example.com/gpu": "9" }),
  capacity("clear capacity", null),

  status("write allocatable", { allocatable: { [`${BRIDGE}br1`]: "1k" } }),
  status("clear allocatable", { allocatable: null }),
  status(
    "write the first allocatable, with more than the bridge",
    { capacity: { [`${BRIDGE}br1`]: "1k" }, allocatable: { [`${BRIDGE}br1`]: "1k", cpu: "64" } },
    ON_NEW_NODE,
  ),
  status("report the node as not ready", ready("False"), STRATEGIC),
  status("clear the conditions", { conditions: null }),
  status("move the node's address", { addresses: [{ type: "InternalIP", address: "192.0.2.66" }] }),
  status("move kubelet's port", { daemonEndpoints: { kubeletEndpoint: { Port: 6666 } } }),
  status("name another machine", { nodeInfo: { machineID: "another" } }),
  status("name another kubelet", { nodeInfo: { kubeletVersion: "v9" } }),
  status("claim an image", { images: [{ names: ["registry.example/any:1"], sizeBytes: 1 }] }),
  status("clear the images", { images: null }),
  status("forget a volume in use", { volumesInUse: null }),
  status("claim an attached volume", { volumesAttached: [{ name: "disk", devicePath: "/dev/sda" }] }),
  status("claim a runtime handler", { runtimeHandlers: [{ name: "kata" }] }),
  status("claim a feature", { features: { supplementalGroupsPolicy: true } }),
  status("set a phase", { phase: "Terminated" }),

  metadata("become a control plane", { labels: { "node-role.kubernetes.io/control-plane": "" } }),
  metadata("take a label away", { labels: { "kubernetes.io/os": null } }),
  metadata("annotate", { annotations: { "example.com/any": "x" } }),
  metadata("be owned, so that garbage collection deletes the node", { ownerReferences: [owner] }),
  metadata("set a finalizer", { finalizers: ["example.com/stay"] }),
  write("apply a label", applied, NOT_CAPACITY, APPLY),
  write(
    "hide a label behind a bridge",
    { metadata: { labels: { a: "b" } }, status: { capacity: { [`${BRIDGE}br8`]: "1k" } } },
    NOT_CAPACITY,
    {},
  ),

  publishOvs("publish an OVS bridge", { br1: "1k" }, { writer: "ovs marker" }),
  publishOvs("publish on another node", { br1: "1k" }, { writer: "ovs marker", ...ELSEWHERE }, NOT_ITS_NODE),
  publishOvs("publish an OVS bridge", { br2: "1k" }, { writer: "ovs marker without a node" }, NOT_ITS_NODE),
  publish("publish a Linux bridge", { br9: "1k" }, { writer: "ovs marker" }, NOT_AN_OVS_BRIDGE),
  status("write allocatable", { allocatable: { cpu: "8" } }, { writer: "ovs marker" }),
  publish("publish a bridge", { br9: "1k" }, { writer: "operator" }, HANDED_ON),
  publish("take back a bridge", { old: null }, { writer: "operator", ...ELSEWHERE }, HANDED_ON),
];

const NODES = ["node-a", "node-b"];
const NEW_NODE = "node-c";

/** Real tokens, on a real API server, with the rights and policies that the operator applied. */
describe("the admission guard of the right to patch nodes' status", () => {
  let cluster: InstalledOperator;
  const clients = new Map<Writer, KubeClient>();

  beforeAll(async () => {
    cluster = await InstalledOperator.install();
    for (const node of [...NODES, NEW_NODE]) await cluster.addNode(node);
    cluster.start(DEFAULT_SETTINGS);
    await cluster.applyConfig({ linuxBridge: {}, ovs: {} });
    await cluster.rollOutUntilAvailable();
    for (const writer of Object.keys(WRITERS) as Writer[]) clients.set(writer, await clientOf(writer));
    for (const node of NODES) await restore(node);
    let bytes = 0;
    for (const [writer, { account }] of Object.entries(WRITERS)) {
      // A policy is enforced a moment after it was written.
      const body = () => ({ status: { capacity: { memory: `${++bytes}` } } });
      const strange = () => send({ writer: writer as Writer, node: "node-a", contentType: MERGE, body: body() });
      await eventually(`the policy of ${account}`, async () => (await strange()).status === 403);
    }
  });
  afterAll(async () => {
    for (const client of clients.values()) await client[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  const MERGE = "application/merge-patch+json";

  /** A token as kubelet has one made: bound to a pod, which names the node. */
  async function clientOf(writer: Writer): Promise<KubeClient> {
    const { account, node } = WRITERS[writer];
    const ref = { namespace: NAMESPACE, name: account };
    const bound = node === undefined ? undefined : await podOf(account, node);
    const kubeconfig = cluster.controlPlane.tokenKubeconfig(await issueToken(cluster.admin, ref, bound));
    return new KubeClient({ credentials: await credentialsFromKubeconfig(kubeconfig) });
  }

  async function podOf(account: string, node: string) {
    const name = `${account}-on-${node}`;
    const spec = { nodeName: node, serviceAccountName: account, containers: [{ name: "main", image: "any" }] };
    const pod = await cluster.admin.create(RESOURCES.pods, { metadata: { namespace: NAMESPACE, name }, spec });
    return { apiVersion: "v1", kind: "Pod", name, uid: pod.metadata.uid ?? "" };
  }

  async function restore(node: string): Promise<void> {
    const metadata = { labels: { "kubernetes.io/os": "linux" } };
    await cluster.admin.patch(RESOURCES.nodes, { name: node }, { type: "merge", body: { metadata } });
    const body = { status: NODE_STATUS };
    await cluster.admin.patch(RESOURCES.nodes, { name: node }, { type: "merge", body }, { subresource: "status" });
  }

  async function send({
    writer,
    node,
    contentType,
    body,
  }: Pick<NodeWrite, "writer" | "node" | "contentType" | "body">) {
    const query = contentType.includes("apply") ? { fieldManager: "test", force: "true" } : {};
    const headers = { "content-type": contentType };
    const path = `/api/v1/nodes/${node}/status`;
    const answer = await clients.get(writer)?.raw("PATCH", path, { body: JSON.stringify(body), headers, query });
    const { message = "" } = (answer?.body ?? {}) as { message?: string };
    return { status: answer?.status, message };
  }

  const stateOf = async (node: string) => {
    const { metadata, status } = await cluster.admin.get(RESOURCES.nodes, { name: node });
    const { resourceVersion: _, managedFields: __, ...rest } = metadata as Record<string, unknown>;
    return { metadata: rest, status };
  };

  const allowed = NODE_WRITES.filter(({ refusal }) => refusal === undefined);
  const refused = NODE_WRITES.filter(({ refusal }) => refusal !== undefined);

  it.each(refused)("refuses the $writer to $what ($node)", async (write) => {
    const before = await stateOf(write.node);
    const { status, message } = await send(write);
    expect(message).toContain(write.refusal);
    expect(status).toBe(403);
    expect(await stateOf(write.node)).toEqual(before);
  });

  it.each(allowed)("allows the $writer to $what ($node)", async (write) => {
    const { status, message } = await send(write);
    expect([status, message]).toEqual([200, ""]);
  });

  it("leaves the markers no other way to write nodes", async () => {
    const node = { metadata: { labels: { a: "b" } } };
    for (const client of [clients.get("marker"), clients.get("ovs marker")]) {
      const headers = { "content-type": MERGE };
      const path = "/api/v1/nodes/node-a";
      expect((await client?.raw("PATCH", path, { body: JSON.stringify(node), headers }))?.status).toBe(403);
      expect((await client?.raw("DELETE", path))?.status).toBe(403);
      expect((await client?.raw("PUT", `${path}/status`, { body: await stateOf("node-a") }))?.status).toBe(403);
      expect((await client?.raw("POST", "/api/v1/nodes", { body: { metadata: { name: "node-c" } } }))?.status).toBe(
        403,
      );
    }
  });
});
