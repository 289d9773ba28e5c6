/** What rendering needs to know about the cluster. Detected anew all the time, never read once. */
export interface Facts {
  /** Nodes that exist, ready or not. */
  readonly nodeCount: number;
  /** On OpenShift some components come with the platform. */
  readonly openShift: boolean;
  /** OpenShift's Cluster Network Operator was told `disableMultiNetwork: true`. */
  readonly multiNetworkDisabled: boolean;
  /** CRDs among the components' prerequisites that the API server serves. */
  readonly definitions: ReadonlySet<string>;
}

export const NO_FACTS: Facts = {
  nodeCount: 0,
  openShift: false,
  multiNetworkDisabled: false,
  definitions: new Set(),
};

/** Two where a second node could take over, one on a cluster of one node. */
export function replicasFor(facts: Facts): number {
  return facts.nodeCount > 1 ? 2 : 1;
}
