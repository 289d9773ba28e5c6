/**
 * Where nodes of a distribution have what the product looks for, as its own documentation says. A real node is laid out by it:
 * `NodeCluster.start({ nodes: [{ name: "n1", distribution: "talos" }] })`. Pure.
 */
import type { KubeObject } from "../../src/kube/client/resource.ts";

export type Distribution = keyof typeof DISTRIBUTIONS;

export interface NodeDirectories {
  readonly cniBinDir: string;
  readonly cniConfigDir: string;
  readonly criSocket: string;
  readonly kubeletDir: string;
  /** PRETTY_NAME of /etc/os-release, which the kubelet reports. */
  readonly osImage: string;
  /** /var/run is a directory of its own. Elsewhere it is a link to /run. */
  readonly hasOwnVarRun: boolean;
  /** What the kubelet's version ends with. Kubelets here are those of Kubernetes: `kubeletVersionPolicy` adds it. */
  readonly kubeletVersionSuffix: string;
  readonly labels: Readonly<Record<string, string>>;
  /** What a reboot keeps besides what it keeps of every node. */
  readonly disk: readonly string[];
  /** Links of the disk: path and target. */
  readonly links: Readonly<Record<string, string>>;
  /** What can be written besides the disk where the root is read-only; undefined where that is not. /usr is everywhere. */
  readonly writable: readonly string[] | undefined;
}

const KUBEADM: NodeDirectories = {
  cniBinDir: "/opt/cni/bin",
  cniConfigDir: "/etc/cni/net.d",
  criSocket: "/run/containerd/containerd.sock",
  kubeletDir: "/var/lib/kubelet",
  osImage: "Debian GNU/Linux",
  hasOwnVarRun: false,
  kubeletVersionSuffix: "",
  labels: {},
  disk: ["opt/cni"],
  links: {},
  writable: undefined,
};

const K3S_DATA = "/var/lib/rancher/k3s";
const SNAP = "/var/snap/microk8s";

export const DISTRIBUTIONS = {
  kubeadm: KUBEADM,
  talos: {
    ...KUBEADM,
    osImage: "Talos (v1.11.2)",
    hasOwnVarRun: true,
    writable: ["/opt", "/run", "/tmp", "/var"],
  },
  k3s: {
    ...KUBEADM,
    cniBinDir: `${K3S_DATA}/data/cni`,
    cniConfigDir: `${K3S_DATA}/agent/etc/cni/net.d`,
    criSocket: "/run/k3s/containerd/containerd.sock",
    kubeletVersionSuffix: "+k3s1",
    disk: [],
  },
  rke2: { ...KUBEADM, criSocket: "/run/k3s/containerd/containerd.sock", kubeletVersionSuffix: "+rke2r1" },
  k0s: {
    ...KUBEADM,
    criSocket: "/run/k0s/containerd.sock",
    kubeletDir: "/var/lib/k0s/kubelet",
    kubeletVersionSuffix: "+k0s.0",
  },
  microk8s: {
    ...KUBEADM,
    cniBinDir: `${SNAP}/current/opt/cni/bin`,
    cniConfigDir: `${SNAP}/current/args/cni-network`,
    criSocket: `${SNAP}/common/run/containerd.sock`,
    kubeletDir: `${SNAP}/common/var/lib/kubelet`,
    labels: { "microk8s.io/cluster": "true" },
    disk: ["var/snap"],
    // Of the snap's revision.
    links: { [`${SNAP}/current`]: "8148" },
  },
  gke: {
    ...KUBEADM,
    cniBinDir: "/home/kubernetes/bin",
    osImage: "Container-Optimized OS from Google",
    kubeletVersionSuffix: "-gke.1080000",
    labels: { "cloud.google.com/gke-nodepool": "default-pool" },
    disk: ["home/kubernetes"],
    writable: ["/etc", "/run", "/tmp", "/var"],
  },
  /** Besides, its cluster has OpenShift's own objects. */
  openshift: {
    ...KUBEADM,
    cniBinDir: "/var/lib/cni/bin",
    cniConfigDir: "/etc/kubernetes/cni/net.d",
    osImage: "Red Hat Enterprise Linux CoreOS",
    disk: [],
    writable: ["/etc", "/run", "/tmp", "/var"],
  },
} as const satisfies Readonly<Record<string, NodeDirectories>>;

/** Adds the suffix to the version that the kubelets of these nodes report. */
export function kubeletVersionPolicy(suffix: string, nodes: readonly string[]): KubeObject[] {
  const name = "kubelet-version";
  const apiVersion = "admissionregistration.k8s.io/v1";
  const version = "object.status.nodeInfo.kubeletVersion";
  const value = `${version} + "${suffix}"`;
  const expression = `[JSONPatch{op: "replace", path: "/status/nodeInfo/kubeletVersion", value: ${value}}]`;
  return [
    {
      apiVersion,
      kind: "MutatingAdmissionPolicy",
      metadata: { name },
      spec: {
        reinvocationPolicy: "Never",
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              resources: ["nodes", "nodes/status"],
              operations: ["CREATE", "UPDATE"],
            },
          ],
        },
        matchConditions: [
          { name: "without", expression: `!${version}.endsWith("${suffix}")` },
          { name: "of-these", expression: `object.metadata.name in ${JSON.stringify(nodes)}` },
        ],
        mutations: [{ patchType: "JSONPatch", jsonPatch: { expression } }],
      },
    },
    {
      apiVersion,
      kind: "MutatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name },
    },
  ];
}
