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
}

const KUBEADM: NodeDirectories = {
  cniBinDir: "/opt/cni/bin",
  cniConfigDir: "/etc/cni/net.d",
  criSocket: "/run/containerd/containerd.sock",
  kubeletDir: "/var/lib/kubelet",
  osImage: "Debian GNU/Linux",
  hasOwnVarRun: false,
  kubeletVersionSuffix: "",
};

const K3S_DATA = "/var/lib/rancher/k3s";

export const DISTRIBUTIONS = {
  kubeadm: KUBEADM,
  talos: { ...KUBEADM, osImage: "Talos (v1.11.2)", hasOwnVarRun: true },
  k3s: {
    ...KUBEADM,
    cniBinDir: `${K3S_DATA}/data/cni`,
    cniConfigDir: `${K3S_DATA}/agent/etc/cni/net.d`,
    criSocket: "/run/k3s/containerd/containerd.sock",
    kubeletVersionSuffix: "+k3s1",
  },
  k0s: {
    ...KUBEADM,
    criSocket: "/run/k0s/containerd.sock",
    kubeletDir: "/var/lib/k0s/kubelet",
    kubeletVersionSuffix: "+k0s.0",
  },
} as const satisfies Readonly<Record<string, NodeDirectories>>;

/** Adds the suffix to the version that kubelets report. */
export function kubeletVersionPolicy(suffix: string): KubeObject[] {
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
        matchConditions: [{ name: "without", expression: `!${version}.endsWith("${suffix}")` }],
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
