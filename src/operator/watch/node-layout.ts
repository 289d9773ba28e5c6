/**
 * Where nodes have what pods mount: one row a distribution of Kubernetes, and how its nodes are recognised. Directories are
 * those of the distributions' own documentation. The directories of network namespaces need no column
 * (src/api/netns-directories.ts). Pure.
 */

import { K3S_CURRENT } from "../../api/linux-bridge-config.ts";
import type { Node } from "../../kube/client/built-in-kinds.ts";

interface NodeLayout {
  readonly distribution: string;
  /** CNI executables. */
  readonly cniBinDir: string;
  /** CNI configuration. */
  readonly cniConfigDir: string;
  /** The kubelet's root. Its device plugins are in /var/lib/kubelet whatever it is. */
  readonly kubeletDir: string;
  /** By the name of the container runtime. */
  readonly criSockets: Readonly<Record<string, string>>;
}

/** Nodes that have the same of everything. */
export interface NodeGroup {
  readonly layout: NodeLayout;
  /** Undefined for a runtime that the table does not know. */
  readonly criSocket: string | undefined;
  /** Names. */
  readonly nodes: readonly string[];
}

/** Of the nodes on which the components run, without those that have not said yet what they are. */
export interface NodeLayouts {
  /** That of most nodes, because a DaemonSet mounts one. */
  readonly layout: NodeLayout;
  /** The runtime's socket that most nodes have. Undefined where no node has a runtime with a known socket. */
  readonly criSocket: string | undefined;
  /** What the nodes are, most nodes first. */
  readonly distributions: readonly string[];
  /** Most nodes first. */
  readonly groups: readonly NodeGroup[];
}

type NodeSelector = Readonly<Record<string, string>>;

const KUBERNETES: NodeLayout = {
  distribution: "Kubernetes",
  cniBinDir: "/opt/cni/bin",
  cniConfigDir: "/etc/cni/net.d",
  kubeletDir: "/var/lib/kubelet",
  criSockets: {
    containerd: "/run/containerd/containerd.sock",
    "cri-o": "/run/crio/crio.sock",
    docker: "/run/cri-dockerd.sock",
  },
};

const RKE2 = layout("RKE2", {}, { containerd: "/run/k3s/containerd/containerd.sock" });
const K3S_DATA = "/var/lib/rancher/k3s";
const K3S = layout(
  "k3s",
  { cniBinDir: `${K3S_DATA}/data/cni`, cniConfigDir: `${K3S_DATA}/agent/etc/cni/net.d` },
  { ...RKE2.criSockets, docker: "/run/k3s/cri-dockerd/cri-dockerd.sock" },
);
const FORMER_K3S: NodeLayout = { ...K3S, cniBinDir: `${K3S_CURRENT}/bin` };
/** Patch of each minor version from which on k3s has `data/cni`. Later ones always have it; the product runs on none before. */
const K3S_DATA_CNI_SINCE: ReadonlyMap<number, number> = new Map([
  [30, 6],
  [31, 2],
]);

const MICROK8S_LABEL = "microk8s.io/cluster";
const SNAP = "/var/snap/microk8s";
/** On every node of GKE. Google's clusters elsewhere have kubelets of the same versions, and the usual directories. */
const GKE_LABEL = "cloud.google.com/gke-nodepool";

const OS_LABEL = "kubernetes.io/os";
const LINUX = "linux";
/** Of the components' pods on the nodes, where the configuration names none. */
export const DEFAULT_WORKLOAD_SELECTOR: NodeSelector = { [OS_LABEL]: LINUX };
/** Of nodes that are no machines. */
const VIRTUAL = { label: "type", value: "virtual-kubelet" };

/** OpenShift is recognised by objects of its own. */
const OPENSHIFT = layout("OpenShift", {
  cniBinDir: "/var/lib/cni/bin",
  cniConfigDir: "/etc/kubernetes/cni/net.d",
});

const RECOGNISED: readonly (readonly [isOf: (node: Node) => boolean, layout: NodeLayout])[] = [
  [(node) => infoOf(node).osImage.startsWith("Talos"), layout("Talos", {})],
  [(node) => isFormerK3s(infoOf(node).kubeletVersion), FORMER_K3S],
  [kubeletVersion("+k3s"), K3S],
  [kubeletVersion("+rke2"), RKE2],
  [
    kubeletVersion("+k0s"),
    layout("k0s", { kubeletDir: "/var/lib/k0s/kubelet" }, { containerd: "/run/k0s/containerd.sock" }),
  ],
  [
    (node) => labelsOf(node)[MICROK8S_LABEL] === "true",
    layout(
      "MicroK8s",
      {
        cniBinDir: `${SNAP}/current/opt/cni/bin`,
        cniConfigDir: `${SNAP}/current/args/cni-network`,
        kubeletDir: `${SNAP}/common/var/lib/kubelet`,
      },
      { containerd: `${SNAP}/common/run/containerd.sock` },
    ),
  ],
  [
    (node) => kubeletVersion("-gke.")(node) && labelsOf(node)[GKE_LABEL] !== undefined,
    layout("GKE", { cniBinDir: "/home/kubernetes/bin" }),
  ],
];

export const NO_NODES: NodeLayouts = { layout: KUBERNETES, criSocket: undefined, distributions: [], groups: [] };

/** `openShift`: every node is OpenShift's. `selector`: of the components' pods on the nodes. */
export function nodeLayouts(nodes: readonly Node[], openShift: boolean, selector: NodeSelector): NodeLayouts {
  const groups = groupsOf(
    nodes.filter((node) => leftOutBecause(node, selector) === undefined),
    openShift,
  );
  const layouts = mostFirst(groups, (group) => group.layout, layoutKey);
  const [layout = openShift ? OPENSHIFT : KUBERNETES] = layouts;
  const known = groups.filter(({ criSocket }) => criSocket !== undefined);
  const [criSocket] = mostFirst(known, (group) => group.criSocket, String);
  const distributions = [...new Set(layouts.map(({ distribution }) => distribution))];
  return { layout, criSocket, distributions, groups };
}

/** Labels of nodes that this file reads, besides those of the selector. */
export const LAYOUT_LABELS: readonly string[] = [MICROK8S_LABEL, GKE_LABEL, OS_LABEL, VIRTUAL.label];

/** Whether it is to be looked at again. `node` and `old` have only the labels that count. */
export function isLaidOutLike(node: Node, old: Node): boolean {
  const isSame = recognised(node) === recognised(old) && runtimeOf(node) === runtimeOf(old);
  return isSame && saysWhatItIs(node) === saysWhatItIs(old) && hasSameLabels(node, old);
}

function groupsOf(nodes: readonly Node[], openShift: boolean): NodeGroup[] {
  const groups = new Map<string, { readonly group: Omit<NodeGroup, "nodes">; readonly nodes: string[] }>();
  for (const node of nodes) {
    const layout = openShift ? OPENSHIFT : recognised(node);
    const runtime = runtimeOf(node);
    const criSocket = Object.hasOwn(layout.criSockets, runtime) ? layout.criSockets[runtime] : undefined;
    const key = `${layoutKey(layout)} ${criSocket}`;
    const known = groups.get(key) ?? { group: { layout, criSocket }, nodes: [] };
    known.nodes.push(node.metadata.name ?? "");
    groups.set(key, known);
  }
  return [...groups]
    .sort(([a, left], [b, right]) => right.nodes.length - left.nodes.length || (a < b ? -1 : 1))
    .map(([, { group, nodes: names }]) => ({ ...group, nodes: names }));
}

/** What the groups have, by the number of their nodes. The same for every order of the nodes. */
function mostFirst<T>(groups: readonly NodeGroup[], has: (group: NodeGroup) => T, keyOf: (what: T) => string): T[] {
  const counts = new Map<T, number>();
  for (const group of groups) counts.set(has(group), (counts.get(has(group)) ?? 0) + group.nodes.length);
  return [...counts]
    .sort(([a, left], [b, right]) => right - left || (keyOf(a) < keyOf(b) ? -1 : 1))
    .map(([what]) => what);
}

function layoutKey({ distribution, cniBinDir }: NodeLayout): string {
  return `${distribution} ${cniBinDir}`;
}

/** Why the components' pods can't run there or nobody knows yet what it is, in words; undefined where they can. */
export function leftOutBecause(node: Node, selector: NodeSelector): string | undefined {
  return notSelectedBecause(node, selector) ?? (saysWhatItIs(node) ? undefined : "no kubelet has reported there yet");
}

/** As far as its labels say: affinity is left to the scheduler. */
function notSelectedBecause(node: Node, selector: NodeSelector): string | undefined {
  const labels = labelsOf(node);
  const os = labels[OS_LABEL] ?? (node.status?.nodeInfo?.operatingSystem || LINUX);
  if (os !== LINUX) return `it runs ${os}, not Linux`;
  if (labels[VIRTUAL.label] === VIRTUAL.value) return "a virtual kubelet is no machine";
  const missing = Object.entries(selector).find(([key, value]) => (key === OS_LABEL ? os : labels[key]) !== value);
  return missing && `the configuration selects nodes with label ${missing.join("=")}`;
}

function isFormerK3s(version: string): boolean {
  const [, minor, patch] = /^v1\.(\d+)\.(\d+).*\+k3s/.exec(version) ?? [];
  if (minor === undefined) return false;
  const since = K3S_DATA_CNI_SINCE.get(Number(minor));
  return since === undefined ? Number(minor) < Math.min(...K3S_DATA_CNI_SINCE.keys()) : Number(patch) < since;
}

/** A node that was just made may say nothing before its kubelet does. */
function saysWhatItIs(node: Node): boolean {
  return infoOf(node).kubeletVersion !== "";
}

function recognised(node: Node): NodeLayout {
  return RECOGNISED.find(([isOf]) => isOf(node))?.[1] ?? KUBERNETES;
}

/** `containerd` of `containerd://2.2.2`. */
function runtimeOf(node: Node): string {
  return infoOf(node).containerRuntimeVersion.split("://")[0] ?? "";
}

function kubeletVersion(part: string): (node: Node) => boolean {
  return (node) => infoOf(node).kubeletVersion.includes(part);
}

function labelsOf({ metadata }: Node): Readonly<Record<string, string>> {
  return metadata.labels ?? {};
}

function hasSameLabels(node: Node, old: Node): boolean {
  const labels = Object.entries(labelsOf(node));
  const before = labelsOf(old);
  return labels.length === Object.keys(before).length && labels.every(([key, value]) => before[key] === value);
}

function infoOf({ status }: Node) {
  const { osImage = "", kubeletVersion = "", containerRuntimeVersion = "" } = status?.nodeInfo ?? {};
  return { osImage, kubeletVersion, containerRuntimeVersion };
}

function layout(
  distribution: string,
  directories: Partial<NodeLayout>,
  criSockets: NodeLayout["criSockets"] = {},
): NodeLayout {
  return { ...KUBERNETES, distribution, ...directories, criSockets: { ...KUBERNETES.criSockets, ...criSockets } };
}
