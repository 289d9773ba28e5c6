/** Ports and addresses of the nodes that daemons on the host's network listen on. Part of the contract (`src/api`). */

/** Where a node daemon answers probes: at the address under which kubelet knows the node, or where only the node reaches it. */
export const PROBE_ADDRESSES = ["Node", "Loopback"] as const;
export type ProbeAddress = (typeof PROBE_ADDRESSES)[number];

export const BRIDGE_MARKER_HEALTH_PORT = 8081;
export const INSTALLER_HEALTH_PORT = 8082;
export const INSTALLER_METRICS_PORT = 8444;
export const BRIDGE_MARKER_METRICS_PORT = 8445;
export const MULTUS_HEALTH_PORT = 8446;

/** Of kubelet, kube-proxy and, on nodes of the control plane, of etcd, API server, controller manager and scheduler. */
export const KUBERNETES_PORTS: readonly number[] = [2379, 2380, 6443, 10248, 10249, 10250, 10255, 10256, 10257, 10259];
export const kubernetesPortText = (field: string): string =>
  `${field} must not be one of: ${KUBERNETES_PORTS.join(", ")}. Kubernetes itself listens there on nodes: choose another port`;

/** Lower ones need a capability that the daemons don't have. */
export const LOWEST_PORT = 1024;
export const lowPortText = (field: string): string =>
  `${field} has to be at least ${LOWEST_PORT}, or 0: the daemon has no right to listen on a lower port`;
