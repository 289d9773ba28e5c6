/** Writes to a node's status that its markers and the operator may and may not make: one table for the guard's test. */
import { OPERATOR_NAME } from "../../../src/api/names.ts";

const MARKER = "bridge-marker";
const OVS_MARKER = "ovs-cni-marker";
const BRIDGE = "bridge.network.kubevirt.io/";
const OVS = "ovs-cni.network.kubevirt.io/";

/** Account, and the node that its token names. */
export const WRITERS = {
  marker: { account: MARKER, node: "node-a" },
  "marker without a node": { account: MARKER, node: undefined },
  "marker of a new node": { account: MARKER, node: "node-c" },
  "ovs marker": { account: OVS_MARKER, node: "node-a" },
  "ovs marker without a node": { account: OVS_MARKER, node: undefined },
  operator: { account: OPERATOR_NAME, node: "node-a" },
} as const;

export type Writer = keyof typeof WRITERS;

export interface NodeWrite {
  readonly what: string;
  readonly writer: Writer;
  readonly node: string;
  readonly contentType: string;
  readonly body: object;
  /** Part of the refusal; undefined: it is allowed. */
  readonly refusal: string | undefined;
}

/** Of the nodes that are written to. As many images, with names as long, as a node may have. */
export const NODE_STATUS = {
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
const NEW_NODE = { writer: "marker of a new node", node: "node-c" } as const;

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

export const NODE_WRITES: readonly NodeWrite[] = [
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
  publish("publish the first resource of a node without allocatable", { br1: "1k" }, NEW_NODE),

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
    NEW_NODE,
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
