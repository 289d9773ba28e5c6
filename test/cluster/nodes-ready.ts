/** Waits for nodes by asking the API server as the administrator. */

import type { Node } from "../../src/kube/client/built-in-kinds.ts";
import type { ControlPlane } from "./control-plane/control-plane.ts";
import { waitUntil } from "./control-plane/readiness.ts";

export interface NodeState {
  readonly ready: boolean;
  /** No taint keeps pods away. */
  readonly schedulable: boolean;
}

const DEADLINE_MS = 20_000;

export async function nodesReady(
  controlPlane: ControlPlane,
  count: number,
  accept: (node: NodeState) => boolean,
  logs: () => string,
): Promise<void> {
  let last = "none registered";
  const check = async (): Promise<boolean> => {
    const answer = await controlPlane.request("GET", "/api/v1/nodes");
    if (answer?.status !== 200) return false;
    const nodes = (JSON.parse(answer.body) as { items: readonly Node[] }).items;
    const accepted = nodes.filter((node) => accept(stateOf(node)));
    last = nodes.map((node) => `${node.metadata.name} ${JSON.stringify(stateOf(node))}`).join(", ") || last;
    return accepted.length === count;
  };
  await waitUntil("nodes", check, DEADLINE_MS, controlPlane.failed).catch((error: unknown) => {
    throw new Error(`${count} nodes Ready: ${error instanceof Error ? error.message : error}; ${last}\n${logs()}`);
  });
}

function stateOf(node: Node): NodeState {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
  return { ready, schedulable: (node.spec?.taints ?? []).length === 0 };
}
