/**
 * What the executables on a node and its daemons must agree on: files and names by which the plugins tell the agent what
 * they did, and the heartbeat of the link monitor. Part of the contract (`src/api`). Imports nothing, because the plugins
 * carry it in their bytecode.
 */

/** Below the node's /run: nothing here outlives a reboot, as no attachment does. */
export const NODE_STATE_DIRECTORY = "/run/cni/cluster-network-addons";

/** One file for each attachment and plugin, with an `AttachmentRecord` as JSON. */
export const ATTACHMENT_RECORD_DIRECTORY = `${NODE_STATE_DIRECTORY}/attachments`;

/** What the agent needs to call the plugin's DEL when the runtime never does. */
export interface AttachmentRecord {
  readonly plugin: string;
  readonly network: string;
  readonly containerId: string;
  readonly ifname: string;
  readonly netns: string;
  /** The configuration of the ADD, as it came. */
  readonly config: string;
}

/** The socket on which the agent listens; one datagram for each call, with an `OperationReport` as JSON. */
export const REPORT_SOCKET = `${NODE_STATE_DIRECTORY}/reports`;

export interface OperationReport {
  readonly plugin: string;
  readonly command: string;
  readonly network: string;
  /** Of the error; 0 for success. */
  readonly code: number;
  readonly ms: number;
}

/** How often the link monitor says that it works, and after how long a silence a daemon takes it for hung. */
export const MONITOR_HEARTBEAT_SECONDS = 10;
export const MAX_MONITOR_SILENCE_HEARTBEATS = 3;

/** Ranges of VLANs of one uplink. Of one that has more, as many as 2,047, none are reported. */
export const MAX_VLAN_RANGES = 32;

/** Stations beyond the uplinks of one node that are reported; the others are counted. */
export const MAX_STATIONS = 256;

/** How the alias of a port of ours begins; `NETWORK/CONTAINER/INTERFACE` follows. */
export const PORT_ALIAS_PREFIX = "cni-bridge:";
