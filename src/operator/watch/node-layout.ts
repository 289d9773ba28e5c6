/**
 * Where nodes have what pods mount: one row a distribution of Kubernetes, and how its nodes are recognised. Directories are
 * those of the distributions' own documentation. The directories of network namespaces need no column
 * (src/api/netns-directories.ts). Pure.
 */

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

export interface NodeLayouts {
  /** That of most nodes, because a DaemonSet mounts one. */
  readonly layout: NodeLayout;
  /** Names of nodes by layout, most first. Without those that have not said yet what they are. */
  readonly nodesByLayout: ReadonlyMap<NodeLayout, readonly string[]>;
  /** The runtime's socket that most nodes have. Undefined where no node has a runtime with a known socket. */
  readonly criSocket: string | undefined;
}

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
const MICROK8S_LABEL = "microk8s.io/cluster";
const SNAP = "/var/snap/microk8s";

/** OpenShift is recognised by objects of its own. */
const OPENSHIFT = layout("OpenShift", {
  cniBinDir: "/var/lib/cni/bin",
  cniConfigDir: "/etc/kubernetes/cni/net.d",
});

const RECOGNISED: readonly (readonly [isOf: (node: Node) => boolean, layout: NodeLayout])[] = [
  [(node) => infoOf(node).osImage.startsWith("Talos"), layout("Talos", {})],
  [
    kubeletVersion("+k3s"),
    layout(
      "k3s",
      { cniBinDir: `${K3S_DATA}/data/cni`, cniConfigDir: `${K3S_DATA}/agent/etc/cni/net.d` },
      { ...RKE2.criSockets, docker: "/run/k3s/cri-dockerd/cri-dockerd.sock" },
    ),
  ],
  [kubeletVersion("+rke2"), RKE2],
  [
    kubeletVersion("+k0s"),
    layout("k0s", { kubeletDir: "/var/lib/k0s/kubelet" }, { containerd: "/run/k0s/containerd.sock" }),
  ],
  [
    ({ metadata }) => metadata.labels?.[MICROK8S_LABEL] !== undefined,
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
  [kubeletVersion("-gke."), layout("GKE", { cniBinDir: "/home/kubernetes/bin" })],
];

export const NO_NODES: NodeLayouts = { layout: KUBERNETES, nodesByLayout: new Map(), criSocket: undefined };

/** `openShift`: every node is OpenShift's. */
export function nodeLayouts(nodes: readonly Node[], openShift: boolean): NodeLayouts {
  const layoutOf = (node: Node): NodeLayout => (openShift ? OPENSHIFT : recognised(node));
  const byLayout = new Map<NodeLayout, string[]>();
  const bySocket = new Map<string, string[]>();
  for (const node of nodes.filter(saysWhatItIs)) {
    const { name = "" } = node.metadata;
    const own = layoutOf(node);
    add(byLayout, own, name);
    const socket = own.criSockets[runtimeOf(node)];
    if (socket !== undefined) add(bySocket, socket, name);
  }
  const nodesByLayout = mostFirst(byLayout, ({ distribution }) => distribution);
  const [first] = nodesByLayout.keys();
  const [criSocket] = mostFirst(bySocket, (socket) => socket).keys();
  return { layout: first ?? (openShift ? OPENSHIFT : KUBERNETES), nodesByLayout, criSocket };
}

/** Labels of nodes that this file reads. */
export const LAYOUT_LABELS: readonly string[] = [MICROK8S_LABEL];

/** Whether it is to be looked at again. */
export function isLaidOutLike(node: Node, old: Node): boolean {
  const isSame = recognised(node) === recognised(old) && runtimeOf(node) === runtimeOf(old);
  return isSame && saysWhatItIs(node) === saysWhatItIs(old);
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

function add<K>(nodes: Map<K, string[]>, key: K, name: string): void {
  const known = nodes.get(key);
  if (known === undefined) nodes.set(key, [name]);
  else known.push(name);
}

/** The same for every order of the nodes. */
function mostFirst<K>(nodes: ReadonlyMap<K, readonly string[]>, nameOf: (key: K) => string): Map<K, readonly string[]> {
  return new Map(
    [...nodes].sort(([a, left], [b, right]) => right.length - left.length || (nameOf(a) < nameOf(b) ? -1 : 1)),
  );
}
