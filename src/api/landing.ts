import { bridgesOfCapacity } from "./bridge-resource.ts";

/** Whether a VM can land on a node now, and how that is told. Pure. */

/** What of a Node says so. */
interface NodeObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly capacity?: Readonly<Record<string, string>>;
  };
}

export interface NodeLanding {
  /** Why it takes no pods now, as `awayStates`. */
  readonly states: readonly string[];
  /** Bridges that it publishes as resources. */
  readonly bridges: readonly string[];
}

export const landingOf = (node: NodeObject): NodeLanding => ({
  states: awayStates(node),
  bridges: bridgesOfCapacity(node.status?.capacity),
});

/** `NotReady`, `cordoned`, or both; none for a node that takes pods. */
export function awayStates({ spec, status }: NodeObject): string[] {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return [
    ...(ready === undefined || ready.status === "True" ? [] : ["NotReady"]),
    ...(spec?.unschedulable === true ? ["cordoned"] : []),
  ];
}

/** A node that has a bridge. */
export interface NodeWithBridge {
  readonly node: string;
  /** As `awayStates`. */
  readonly states: readonly string[];
  /** Whether the bridge is among the node's resources, by which the scheduler finds it. */
  readonly publishes: boolean;
}

/** By name. `reporting`: names of the nodes that report the bridge; those that publish it have it too. */
export function nodesHaving(
  bridge: string,
  nodes: readonly (NodeLanding & { readonly name: string })[],
  reporting: ReadonlySet<string>,
): NodeWithBridge[] {
  return nodes
    .map(({ name: node, states, bridges }) => ({ node, states, publishes: bridges.includes(bridge) }))
    .filter(({ node, publishes }) => publishes || reporting.has(node))
    .sort((a, b) => (a.node < b.node ? -1 : 1));
}

/** `is NotReady and cordoned`, `does not publish br3`; undefined where a VM can land. */
export function notNowBecause(bridge: string, { states, publishes }: Omit<NodeWithBridge, "node">): string | undefined {
  if (states.length > 0) return `is ${states.join(" and ")}`;
  return publishes ? undefined : `does not publish ${bridge}`;
}

/** `node-a`, `node-c (NotReady, cordoned)`. */
export function nodeText({ node, states }: Pick<NodeWithBridge, "node" | "states">): string {
  return states.length === 0 ? node : `${node} (${states.join(", ")})`;
}

export interface NotNow {
  /** `node-c is NotReady and cordoned`, and of several `node-a is cordoned, and the 4 others take no VM either`. */
  readonly because: string;
  /** A sentence. */
  readonly remedy: string;
}

/** Of a bridge that nodes have, where no VM can land on any of them now; undefined otherwise. */
export function notNow(bridge: string, having: readonly NodeWithBridge[]): NotNow | undefined {
  const [first, ...others] = having;
  if (first === undefined) return undefined;
  const reason = notNowBecause(bridge, first);
  if (reason === undefined || others.some((one) => notNowBecause(bridge, one) === undefined)) return undefined;
  const { node, states } = first;
  const more =
    others.length === 0
      ? ""
      : `, and ${others.length === 1 ? "the other takes" : `the ${others.length} others take`} no VM either`;
  return {
    because: `${node} ${reason}${more}`,
    remedy: `${remedyOf(node, states)}, or make ${bridge} on another node.`,
  };
}

function remedyOf(node: string, states: readonly string[]): string {
  if (states.includes("NotReady")) return `Bring ${node} back (kubectl describe node ${node} says why it is NotReady)`;
  if (states.length > 0) return `Let VMs on ${node} again (kubectl uncordon ${node})`;
  return `See whether a bridge-marker runs on ${node} (kubectl get pods -A -l app=bridge-marker -o wide)`;
}
