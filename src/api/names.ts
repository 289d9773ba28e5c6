/**
 * Names that other software looks for: labels, annotations, object names, groups.
 * Part of the contract (`src/api`), imported by every product, the CLI and the tests. Imports nothing.
 */

export const PRODUCT_VERSION = "0.1.0";
/** The oldest that has everything the manifests use. */
export const MIN_KUBERNETES_VERSION = "1.30.0";

export const OPERATOR_NAME = "cluster-network-addons-operator";
export const DEFAULT_NAMESPACE = "cluster-network-addons";
export const FIELD_MANAGER = OPERATOR_NAME;

export const SYSTEM_NAMESPACE = "kube-system";
/** ConfigMap of the API server in kube-system, with the authority of its users' certificates. */
export const API_SERVER_CLIENTS = "extension-apiserver-authentication";
export const API_SERVER_CLIENTS_KEY = "client-ca-file";
/** Set by Kubernetes on every namespace. */
export const NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name";

export const NETWORK_ADDONS_GROUP = "networkaddonsoperator.network.kubevirt.io";
export const NETWORK_ADDONS_CONFIG_NAME = "cluster";
export const APPLIED_CONFIG_MAP = "cluster-networks-addons-operator-applied-cluster";

export const MAC_POOL_GROUP = "macpool.network.kubevirt.io";
export const DEFAULT_MAC_POOL = "default";
/** Header of a reader's token. Proxies pass it on; the API server's service proxy keeps `Authorization` for itself. */
export const MAC_POOL_TOKEN_HEADER = "macpool-authorization";

export const LABEL_VERSION = "networkaddonsoperator.network.kubevirt.io/version";
export const LABEL_PROMETHEUS = "prometheus.cnao.io";
export const LABEL_MANAGED_BY = "app.kubernetes.io/managed-by";
export const LABEL_COMPONENT = "app.kubernetes.io/component";
export const LABEL_PART_OF = "app.kubernetes.io/part-of";
export const LABEL_APP_VERSION = "app.kubernetes.io/version";
export const MANAGED_BY = "cnao-operator";

/** Of every process that serves metrics by HTTPS in a pod with a network of its own. */
export const METRICS_PORT = 8443;
export const METRICS_PORT_NAME = "metrics";
export const OPERATOR_METRICS_SERVICE = `${OPERATOR_NAME}-prometheus-metrics`;
/** Labels by which monitoring of KubeMacPool finds what belongs to it. */
export const MAC_POOL_MONITORED: Readonly<Record<string, string>> = { "prometheus.kubemacpool.io": "true" };
export const MAC_POOL_METRICS_SERVICE = "kubemacpool-metrics-service";

/** On pods: who needs the API server and DNS, and whom Prometheus scrapes. HCO's NetworkPolicies select them too. */
export const LABEL_NEEDS_CLUSTER_SERVICES = "np.kubevirt.io/allow-access-cluster-services";
export const LABEL_SCRAPED = "np.kubevirt.io/allow-prometheus-access";

export const LINUX_BRIDGE_DAEMON_SET = "kube-cni-linux-bridge-plugin";
export const LINUX_BRIDGE_WEBHOOK = "linux-bridge-webhook";
/** What had the webhook's certificates before the operator kept them. */
export const LINUX_BRIDGE_CERT_MANAGER = "linux-bridge-cert-manager";
export const LINT_WEBHOOK = "lint-networks.linux-bridge.network.kubevirt.io";
export const INJECTION_WEBHOOK = "inject-resources.linux-bridge.network.kubevirt.io";
export const BRIDGE_MARKER = "bridge-marker";

export const MAC_POOL_MANAGER = "kubemacpool-mac-controller-manager";
/** Of the manager's pods. */
export const MAC_POOL_SELECTOR: Readonly<Record<string, string>> = { "control-plane": "mac-controller-manager" };
export const MAC_POOL_CERT_MANAGER = "kubemacpool-cert-manager";
export const MAC_POOL_SERVICE = "kubemacpool-service";
export const MAC_POOL_CA_SECRET = "kubemacpool-mutator-ca";
export const MAC_POOL_WEBHOOK_CONFIGURATION = "kubemacpool-mutator";
export const MAC_POOL_RANGE_CONFIG_MAP = "kubemacpool-mac-range-config";
/** ConfigMap with the authority of those who may call the webhooks, if there is one. */
export const MAC_POOL_WEBHOOK_CLIENTS = "kubemacpool-webhook-clients";
/** Webhooks. */
export const MAC_POOL_HTTPS_PORT = 8000;
export const MAC_POOL_INSPECTION_PORT = 8443;
/** Of the Service. */
export const MAC_POOL_INSPECTION_PORT_NAME = "inspection";

/** KubeMacPool before 0.30 put it on VMs. Nobody else takes it off. */
export const FORMER_FINALIZER = "k8s.v1.cni.cncf.io/kubeMacPool";

/** Namespace label `allocate | ignore` and name of the webhook that it steers. `ignore` on an object opts it out. */
export const VM_WEBHOOK = "mutatevirtualmachines.kubemacpool.io";
export const VMI_WEBHOOK = "mutatevirtualmachineinstances.kubemacpool.io";
/** Called at the start of a VM: the pool checks whether another holder of its addresses runs. */
export const VMI_START_WEBHOOK = "startvirtualmachineinstances.kubemacpool.io";
export const POD_WEBHOOK = "mutatepods.kubemacpool.io";

/** KubeVirt's label of launcher pods. */
export const LAUNCHER_LABEL = "kubevirt.io";
export const LAUNCHER = "virt-launcher";
export const LAUNCHER_SELECTOR = `${LAUNCHER_LABEL}=${LAUNCHER}`;

export const BRIDGE_RESOURCE_PREFIX = "bridge.network.kubevirt.io/";

export const NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks";
export const NETWORK_STATUS_ANNOTATION = "k8s.v1.cni.cncf.io/network-status";
export const DEFAULT_NETWORK_ANNOTATION = "v1.multus-cni.io/default-network";
export const NAD_RESOURCE_NAME_ANNOTATION = "k8s.v1.cni.cncf.io/resourceName";
export const NAD_NODE_SELECTOR_ANNOTATION = "k8s.v1.cni.cncf.io/nodeSelector";
/** On pods: the amounts of resources before and after their injection, as JSON. */
export const INJECTED_ANNOTATION = "linux-bridge.network.kubevirt.io/injected";
export const NAD_GROUP = "k8s.cni.cncf.io";
