/** Ports and addresses of the nodes that daemons on the host's network listen on. Part of the contract (`src/api`). */

/** Where a node daemon answers probes: at the address under which kubelet knows the node, or where only the node reaches it. */
export const PROBE_ADDRESSES = ["Node", "Loopback"] as const;
export type ProbeAddress = (typeof PROBE_ADDRESSES)[number];

export const BRIDGE_MARKER_HEALTH_PORT = 8081;
export const INSTALLER_HEALTH_PORT = 8082;
export const INSTALLER_METRICS_PORT = 8444;
export const BRIDGE_MARKER_METRICS_PORT = 8445;
export const MULTUS_HEALTH_PORT = 8446;
