import { NODE_MACS } from "../api/kinds.ts";
import { landingOf, type NodeWithBridge, nodesHaving } from "../api/landing.ts";
import type { NodeMACs } from "../api/node-macs.ts";
import { isForbidden, isNotFound } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { RESOURCES, type Resource } from "../kube/client/resource.ts";
import type { ClusterFacts, NodesWith } from "../nad-lint/lint.ts";

export interface NodesWithBridges extends Required<Pick<ClusterFacts, "bridgesOn">> {
  /** The nodes that publish the bridge or report it, by name. */
  nodesWith(bridge: string): NodesWith;
}

/** Throws what the client throws where the user may not list nodes. What nodes report is known to whom may list NodeMACs. */
export async function readNodes(client: KubeClient, timeoutMs: number): Promise<NodesWithBridges> {
  const options = { managedFields: false, timeoutMs };
  const { items } = await client.list(RESOURCES.nodes, options);
  const reports = await client.list(NODE_MACS as Resource as Resource<NodeMACs>, options).catch(nobodyKnows);
  const reported = (bridge: string) =>
    (reports?.items ?? []).flatMap(({ metadata: { name: node = "" }, bridges = [] }) =>
      bridges.filter(({ name }) => name === bridge).map((found) => ({ node, ...found })),
    );
  const nodes = items.map((node) => ({ name: node.metadata.name ?? "", ...landingOf(node) }));
  const having = (bridge: string): NodeWithBridge[] =>
    nodesHaving(bridge, nodes, new Set(reported(bridge).map(({ node }) => node)));
  return {
    nodesWith: (bridge) => ({ having: having(bridge), total: items.length }),
    bridgesOn: (bridge) => {
      const known = new Set(having(bridge).map(({ node }) => node));
      return reports && reported(bridge).filter(({ node }) => known.has(node));
    },
  };
}

/** Of a user who may not list them, or a cluster without them. */
function nobodyKnows(error: unknown): undefined {
  if (!isForbidden(error) && !isNotFound(error)) throw error;
}
