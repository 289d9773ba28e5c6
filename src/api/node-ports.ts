/** Ports of the nodes that daemons on the host's network listen on. Part of the contract (`src/api`). */

export const BRIDGE_MARKER_HEALTH_PORT = 8081;
export const INSTALLER_HEALTH_PORT = 8082;
export const INSTALLER_METRICS_PORT = 8444;
export const BRIDGE_MARKER_METRICS_PORT = 8445;
