import { bridgesOfCapacity } from "../api/bridge-resource.ts";
import { NODE_MACS } from "../api/kinds.ts";
import type { NodeMACs } from "../api/node-macs.ts";
import { isForbidden, isNotFound } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { RESOURCES, type Resource } from "../kube/client/resource.ts";
import type { ClusterFacts } from "../nad-lint/lint.ts";

export interface NodesWithBridges extends Required<Pick<ClusterFacts, "bridgesOn">> {
  readonly total: number;
  /** Names of the nodes that publish the bridge. */
  publishing(bridge: string): string[];
  nodesWith(bridge: string): { readonly count: number; readonly total: number };
}

/** Throws what the client throws where the user may not list nodes. How bridges are set is known to whom may list NodeMACs. */
export async function readNodes(client: KubeClient, timeoutMs: number): Promise<NodesWithBridges> {
  const options = { managedFields: false, timeoutMs };
  const { items } = await client.list(RESOURCES.nodes, options);
  const reports = await client.list(NODE_MACS as Resource as Resource<NodeMACs>, options).catch(nobodyKnows);
  const publishing = (bridge: string): string[] =>
    items
      .filter(({ status }) => bridgesOfCapacity(status?.capacity).includes(bridge))
      .map(({ metadata }) => metadata.name ?? "");
  return {
    total: items.length,
    publishing,
    nodesWith: (bridge) => ({ count: publishing(bridge).length, total: items.length }),
    bridgesOn: (bridge) => {
      const nodes = publishing(bridge);
      return reports?.items.flatMap(({ metadata: { name: node = "" }, bridges = [] }) =>
        nodes.includes(node) ? bridges.filter(({ name }) => name === bridge).map((found) => ({ node, ...found })) : [],
      );
    },
  };
}

/** Of a user who may not list them, or a cluster without them. */
function nobodyKnows(error: unknown): undefined {
  if (!isForbidden(error) && !isNotFound(error)) throw error;
}
