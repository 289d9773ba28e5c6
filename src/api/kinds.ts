/**
 * Groups, versions and names of the custom kinds: ours, and those of others that we read. The shape is the Kubernetes
 * client's resource, which this folder does not import.
 */

import { MAC_POOL_GROUP, NAD_GROUP, NETWORK_ADDONS_GROUP } from "./names.ts";

export interface CustomKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

export const NETWORK_ADDONS_CONFIGS: CustomKind = {
  group: NETWORK_ADDONS_GROUP,
  version: "v1",
  kind: "NetworkAddonsConfig",
  plural: "networkaddonsconfigs",
  namespaced: false,
};

export const MAC_POOLS: CustomKind = {
  group: MAC_POOL_GROUP,
  version: "v1alpha1",
  kind: "MACPool",
  plural: "macpools",
  namespaced: false,
};

export const MAC_CLAIMS: CustomKind = {
  group: MAC_POOL_GROUP,
  version: "v1alpha1",
  kind: "MACClaim",
  plural: "macclaims",
  namespaced: false,
};

export const NODE_MACS: CustomKind = {
  group: MAC_POOL_GROUP,
  version: "v1alpha1",
  kind: "NodeMACs",
  plural: "nodemacs",
  namespaced: false,
};

const KUBEVIRT_GROUP = "kubevirt.io";

export const VIRTUAL_MACHINES: CustomKind = {
  group: KUBEVIRT_GROUP,
  version: "v1",
  kind: "VirtualMachine",
  plural: "virtualmachines",
  namespaced: true,
};

export const VIRTUAL_MACHINE_INSTANCES: CustomKind = {
  group: KUBEVIRT_GROUP,
  version: "v1",
  kind: "VirtualMachineInstance",
  plural: "virtualmachineinstances",
  namespaced: true,
};

export const NETWORK_ATTACHMENT_DEFINITIONS: CustomKind = {
  group: NAD_GROUP,
  version: "v1",
  kind: "NetworkAttachmentDefinition",
  plural: "network-attachment-definitions",
  namespaced: true,
};

const PROMETHEUS_GROUP = "monitoring.coreos.com";

export const SERVICE_MONITORS: CustomKind = {
  group: PROMETHEUS_GROUP,
  version: "v1",
  kind: "ServiceMonitor",
  plural: "servicemonitors",
  namespaced: true,
};

export const PROMETHEUS_RULES: CustomKind = {
  group: PROMETHEUS_GROUP,
  version: "v1",
  kind: "PrometheusRule",
  plural: "prometheusrules",
  namespaced: true,
};

/** OpenShift's Cluster Network Operator reads its configuration from the one that is named `cluster`. */
export const OPENSHIFT_NETWORKS: CustomKind = {
  group: "operator.openshift.io",
  version: "v1",
  kind: "Network",
  plural: "networks",
  namespaced: false,
};

export const SECURITY_CONTEXT_CONSTRAINTS: CustomKind = {
  group: "security.openshift.io",
  version: "v1",
  kind: "SecurityContextConstraints",
  plural: "securitycontextconstraints",
  namespaced: false,
};

/** `group/version`, as in an object's apiVersion. */
export function apiVersionOf(kind: CustomKind): string {
  return `${kind.group}/${kind.version}`;
}
