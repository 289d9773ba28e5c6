/**
 * Names that other software looks for: labels, annotations, object names, groups.
 * Part of the contract (`src/api`), imported by every product, the CLI and the tests. Imports nothing.
 */

export const PRODUCT_VERSION = "0.1.0";

/** The one image every process of the product runs from. */
export const DEFAULT_IMAGE = `cluster-network-addons/cluster-network-addons:${PRODUCT_VERSION}`;

/** Where Node and the source tree are inside the image. */
export const IMAGE_NODE = "/nodejs/bin/node";
export const IMAGE_ROOT = "/app";

export const OPERATOR_NAME = "cluster-network-addons-operator";
export const DEFAULT_NAMESPACE = "cluster-network-addons";
export const FIELD_MANAGER = OPERATOR_NAME;

export const NETWORK_ADDONS_GROUP = "networkaddonsoperator.network.kubevirt.io";
export const NETWORK_ADDONS_CONFIG_NAME = "cluster";
export const APPLIED_CONFIG_MAP = "cluster-networks-addons-operator-applied-cluster";

export const MAC_POOL_GROUP = "macpool.network.kubevirt.io";
export const DEFAULT_MAC_POOL = "default";

export const LABEL_VERSION = "networkaddonsoperator.network.kubevirt.io/version";
export const LABEL_PROMETHEUS = "prometheus.cnao.io";
export const LABEL_MANAGED_BY = "app.kubernetes.io/managed-by";
export const LABEL_COMPONENT = "app.kubernetes.io/component";
export const LABEL_PART_OF = "app.kubernetes.io/part-of";
export const LABEL_APP_VERSION = "app.kubernetes.io/version";
export const MANAGED_BY = "cnao-operator";

export const LINUX_BRIDGE_DAEMON_SET = "kube-cni-linux-bridge-plugin";
export const LINUX_BRIDGE_WEBHOOK = "linux-bridge-webhook";
export const BRIDGE_MARKER = "bridge-marker";

export const MAC_POOL_MANAGER = "kubemacpool-mac-controller-manager";
export const MAC_POOL_CERT_MANAGER = "kubemacpool-cert-manager";
export const MAC_POOL_SERVICE = "kubemacpool-service";
export const MAC_POOL_CA_SECRET = "kubemacpool-mutator-ca";
export const MAC_POOL_WEBHOOK_CONFIGURATION = "kubemacpool-mutator";
export const MAC_POOL_RANGE_CONFIG_MAP = "kubemacpool-mac-range-config";
export const MAC_POOL_HTTPS_PORT = 8000;

/** Namespace label `allocate | ignore`, also the name of the webhook it steers; on one object it opts that object out. */
export const VM_WEBHOOK = "mutatevirtualmachines.kubemacpool.io";
export const VMI_WEBHOOK = "mutatevirtualmachineinstances.kubemacpool.io";
/** Called when a VM starts: asks the pool whether another holder of one of its addresses runs. */
export const VMI_START_WEBHOOK = "startvirtualmachineinstances.kubemacpool.io";
export const POD_WEBHOOK = "mutatepods.kubemacpool.io";

export const BRIDGE_RESOURCE_PREFIX = "bridge.network.kubevirt.io/";

export const NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks";
export const NETWORK_STATUS_ANNOTATION = "k8s.v1.cni.cncf.io/network-status";
export const DEFAULT_NETWORK_ANNOTATION = "v1.multus-cni.io/default-network";
export const NAD_RESOURCE_NAME_ANNOTATION = "k8s.v1.cni.cncf.io/resourceName";
export const NAD_NODE_SELECTOR_ANNOTATION = "k8s.v1.cni.cncf.io/nodeSelector";
export const NAD_GROUP = "k8s.cni.cncf.io";
