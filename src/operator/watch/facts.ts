import { NO_NODES, type NodeLayouts } from "./node-layout.ts";

/** What rendering needs to know about the cluster. Detected anew all the time, never read once. */
export interface Facts extends NodeLayouts {
  /** Nodes that exist, ready or not. */
  readonly nodeCount: number;
  /** On OpenShift some components come with the platform. */
  readonly openShift: boolean;
  /** The API server lets no pod have more rights than SecurityContextConstraints allow, as on OpenShift and its kin. */
  readonly securityContextConstraints: boolean;
  /** OpenShift's Cluster Network Operator was told `disableMultiNetwork: true`. */
  readonly multiNetworkDisabled: boolean;
  /** CRDs among the components' prerequisites that the API server serves. */
  readonly definitions: ReadonlySet<string>;
  /** The Prometheus operator's kinds are served. */
  readonly prometheusOperator: boolean;
  /** Ports at which API servers listen, in order; none while they are not known. */
  readonly apiServerPorts: readonly number[];
  /** What runs the MAC pool that the API server asks in place of ours. */
  readonly otherMacPool?: string | undefined;
}

export const NO_FACTS: Facts = {
  ...NO_NODES,
  nodeCount: 0,
  openShift: false,
  securityContextConstraints: false,
  multiNetworkDisabled: false,
  definitions: new Set(),
  prometheusOperator: false,
  apiServerPorts: [],
};

/** With these, everything that can be deployed is. */
export const EVERY_FACT: Facts = {
  ...NO_FACTS,
  nodeCount: 2,
  securityContextConstraints: true,
  prometheusOperator: true,
  apiServerPorts: [6443],
};

/** Two where a second node could take over, one on a cluster of one node. */
export function replicasFor(facts: Facts): number {
  return facts.nodeCount > 1 ? 2 : 1;
}
