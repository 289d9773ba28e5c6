/** Configuration files of a real node's programs, as an administrator would write them. Pure. */
import { CONTROL_PLANE_ADDRESS, type NodePlan, podCidr } from "../cluster/network-plan.ts";
import type { CgroupVersion } from "./cgroups.ts";
import { DISTRIBUTIONS, type NodeDirectories } from "./distributions.ts";
import { PAUSE_IMAGE } from "./images/test-images.ts";
import { type KubeletVersion, OLDEST_KUBERNETES_VERSION } from "./node-programs.ts";

/** Of nodes that are laid out as kubeadm's. */
export const CNI_BIN_DIRECTORY = DISTRIBUTIONS.kubeadm.cniBinDir;
export const CNI_CONFIG_DIRECTORY = DISTRIBUTIONS.kubeadm.cniConfigDir;
export const KUBERNETES_DIRECTORY = "/etc/kubernetes";
export const CONTAINERD_DIRECTORY = "/etc/containerd";
/** Where the node's programs are. */
export const PROGRAM_DIRECTORY = "/opt/node";
/** Port of the control plane's address at which nodes reach the registry of the machine. */
export const REGISTRY_PORT = 5000;
/** Port of the control plane's address at which the API server reaches the webhooks of a test. */
export const WEBHOOK_PORT = 5001;
export const WEBHOOK_ADDRESS = { host: CONTROL_PLANE_ADDRESS, port: WEBHOOK_PORT };

const CERTIFICATES = `${CONTAINERD_DIRECTORY}/certs.d`;
const POD_RANGE = "10.77.0.0/16";
const DNS_ADDRESS = "10.96.0.10";

/** How nodes give pods their first interface. */
export type PodNetwork =
  /** The reference plugin ptp, under a network name of its own: the product is a guest on the node. */
  | "ptp"
  /** The product's bridge plugin, taken from this source tree: `bridge` is there before any pod. */
  | "bridge"
  /** None: the test writes configuration lists itself, and nodes are not Ready before. */
  | "none";

/** A file of the node: path and content. */
export type NodeFile = readonly [path: string, content: string];

export interface NodeSettings {
  readonly plan: NodePlan;
  readonly version: KubeletVersion;
  readonly podNetwork: PodNetwork;
  readonly directories: NodeDirectories;
  readonly cgroupVersion: CgroupVersion;
  readonly cgroupPath: string;
  /** Host and port in image names; undefined where there is no registry. */
  readonly registry?: string;
}

export function nodeFiles(settings: NodeSettings): NodeFile[] {
  const { plan, podNetwork, registry, directories } = settings;
  return [
    [`${CONTAINERD_DIRECTORY}/config.toml`, containerdConfig(directories)],
    ["/etc/os-release", `PRETTY_NAME="${directories.osImage}"\n`],
    [`${KUBERNETES_DIRECTORY}/kubelet.json`, JSON.stringify(kubeletConfig(settings), null, 2)],
    [`${KUBERNETES_DIRECTORY}/kube-proxy.json`, JSON.stringify(kubeProxyConfig(plan), null, 2)],
    ...(registry === undefined ? [] : [registryHost(registry)]),
    ...(podNetwork === "none" ? [] : [defaultNetwork(plan, podNetwork, directories)]),
  ];
}

/** Without CAP_SYS_RESOURCE nobody can lower the OOM score of a container below its own. */
const containerdConfig = ({ cniBinDir, cniConfigDir, criSocket }: NodeDirectories): string => `version = 3

[grpc]
  address = '${criSocket}'

[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '${PAUSE_IMAGE}'

[plugins.'io.containerd.cri.v1.images'.registry]
  config_path = '${CERTIFICATES}'

[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ['${cniBinDir}']
  conf_dir = '${cniConfigDir}'
  max_conf_num = 0
  use_internal_loopback = true
`;

function kubeletConfig({ plan, version, cgroupPath, cgroupVersion, directories }: NodeSettings): object {
  const refusesVersion1 = version !== OLDEST_KUBERNETES_VERSION && cgroupVersion === 1;
  return {
    ...{ apiVersion: "kubelet.config.k8s.io/v1beta1", kind: "KubeletConfiguration" },
    address: plan.address,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${KUBERNETES_DIRECTORY}/ca.crt` },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: `${KUBERNETES_DIRECTORY}/kubelet.crt`,
    tlsPrivateKeyFile: `${KUBERNETES_DIRECTORY}/kubelet.key`,
    containerRuntimeEndpoint: `unix://${directories.criSocket}`,
    ...{ cgroupDriver: "cgroupfs", cgroupRoot: cgroupPath, ...(refusesVersion1 ? { failCgroupV1: false } : {}) },
    oomScoreAdj: 0,
    ...{ nodeStatusUpdateFrequency: "1s", nodeLeaseDurationSeconds: 20 },
    makeIPTablesUtilChains: false,
    ...{ clusterDNS: [DNS_ADDRESS], clusterDomain: "cluster.local" },
    // The machine's own disk, whose fill is none of the nodes' business.
    evictionHard: { "memory.available": "50Mi", "nodefs.available": "0%", "imagefs.available": "0%" },
    imageGCHighThresholdPercent: 100,
    volumePluginDir: `${directories.kubeletDir}/volume-plugins`,
  };
}

const kubeProxyConfig = (plan: NodePlan): object => ({
  ...{ apiVersion: "kubeproxy.config.k8s.io/v1alpha1", kind: "KubeProxyConfiguration" },
  mode: "nftables",
  clientConnection: { kubeconfig: `${KUBERNETES_DIRECTORY}/kube-proxy.kubeconfig` },
  hostnameOverride: plan.name,
  clusterCIDR: POD_RANGE,
  // These settings are the whole machine's.
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
});

/** Plain HTTP: the address is in the cluster's own network namespace and is forwarded to the machine's loopback. */
const registryHost = (registry: string): NodeFile => [
  `${CERTIFICATES}/${registry}/hosts.toml`,
  `server = "http://${CONTROL_PLANE_ADDRESS}:${REGISTRY_PORT}"\n`,
];

function defaultNetwork(plan: NodePlan, podNetwork: "ptp" | "bridge", { cniConfigDir }: NodeDirectories): NodeFile {
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet: podCidr(plan) }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  const plugin =
    podNetwork === "ptp"
      ? { type: "ptp", ipMasq: false, ipam }
      : { type: "bridge", bridge: "cni0", isGateway: true, ipMasq: false, ipam };
  const list = { cniVersion: podNetwork === "ptp" ? "1.0.0" : "1.1.0", name: "pods", plugins: [plugin] };
  return [`${cniConfigDir}/10-pods.conflist`, JSON.stringify(list, null, 2)];
}
