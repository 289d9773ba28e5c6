/** What all pods of a node share. */
import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
import type { Multus } from "../multus/multus.ts";
import type { NodeConfig } from "./node-config.ts";
import type { PodNetworks } from "./pod-network.ts";

export interface PodContext {
  readonly config: NodeConfig;
  readonly client: KubeClient;
  readonly networks: PodNetworks;
  readonly multus: Multus;
  readonly events: EventRecorder;
  readonly log: (line: string) => void;
}

/** Where pods have their volumes and root file systems, on the node. */
export const PODS_DIRECTORY = "/var/lib/process-node/pods";
