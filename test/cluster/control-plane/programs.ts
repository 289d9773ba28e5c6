/** The programs of the control plane: where their sources are, and which variables name existing executables. */

export interface Program {
  /** File name of the executable. */
  readonly name: string;
  readonly goPackage: string;
  /** Environment variable that points to a ready-made one, as the Kubernetes test tools name them. */
  readonly assetVariable: string;
}

export const KUBERNETES_VERSION = "1.36.3";
export const ETCD_VERSION = "3.6.8";

export const PROGRAMS = {
  etcd: { name: "etcd", goPackage: "go.etcd.io/etcd/server/v3", assetVariable: "TEST_ASSET_ETCD" },
  kubeApiserver: {
    name: "kube-apiserver",
    goPackage: "k8s.io/kubernetes/cmd/kube-apiserver",
    assetVariable: "TEST_ASSET_KUBE_APISERVER",
  },
  controllerManager: {
    name: "kube-controller-manager",
    goPackage: "k8s.io/kubernetes/cmd/kube-controller-manager",
    assetVariable: "TEST_ASSET_KUBE_CONTROLLER_MANAGER",
  },
  scheduler: {
    name: "kube-scheduler",
    goPackage: "k8s.io/kubernetes/cmd/kube-scheduler",
    assetVariable: "TEST_ASSET_KUBE_SCHEDULER",
  },
  kubectl: { name: "kubectl", goPackage: "k8s.io/kubernetes/cmd/kubectl", assetVariable: "TEST_ASSET_KUBECTL" },
} as const satisfies Record<string, Program>;

export type ProgramKey = keyof typeof PROGRAMS;

/** Absolute paths of the executables. */
export type Binaries = Readonly<Record<ProgramKey, string>>;
