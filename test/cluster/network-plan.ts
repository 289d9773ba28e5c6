/**
 * Addresses and links of a cluster, the same in every cluster because each has its own network namespace. Pure: lines
 * for `ip -batch`.
 *
 * The control plane's namespace is a router: a bridge to the nodes, the API server on 10.99.0.1 and as the Service
 * `kubernetes` on 10.96.0.1. Each node has 10.99.0.<10+i> and the pods 10.77.<i>.0/24, reached by routes; there is no NAT.
 * Pods hang on routed veth pairs, so a node has only the bridges that a test gives it.
 */
import { KUBERNETES_SERVICE_ADDRESS } from "./control-plane/arguments.ts";

export interface NodeOptions {
  readonly name: string;
  /** Bridges that the node has from its start. */
  readonly bridges?: readonly string[];
}

export interface NodePlan {
  readonly name: string;
  readonly address: string;
  /** First three octets of its pods' addresses; .1 is the node's own end. */
  readonly podPrefix: string;
  readonly bridges: readonly string[];
}

export const CONTROL_PLANE_ADDRESS = "10.99.0.1";
const CLUSTER_BRIDGE = "cluster";
const FIRST_NODE = 11;
const MAX_NODES = 200;

export const podCidr = (node: NodePlan): string => `${node.podPrefix}.0/24`;
export const nodeNamespace = (node: NodePlan): string => `node-${node.name}`;

/** Throws on names that can't be nodes. */
export function planNodes(nodes: readonly NodeOptions[]): NodePlan[] {
  if (nodes.length > MAX_NODES) throw new Error(`${nodes.length} nodes: at most ${MAX_NODES} fit the address plan`);
  if (new Set(nodes.map(({ name }) => name)).size < nodes.length) throw new Error("Two nodes have the same name");
  return nodes.map(({ name, bridges = [] }, index) => {
    if (!/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/.test(name)) {
      throw new Error(`Node name "${name}": lower-case letters, digits and dashes, at most 42`);
    }
    return { name, address: `10.99.0.${FIRST_NODE + index}`, podPrefix: `10.77.${index + 1}`, bridges };
  });
}

/** In the control plane's namespace. */
export function clusterLinks(nodes: readonly NodePlan[]): string[] {
  return [
    "link set lo up",
    `addr add ${KUBERNETES_SERVICE_ADDRESS}/32 dev lo`,
    `link add ${CLUSTER_BRIDGE} type bridge`,
    `addr add ${CONTROL_PLANE_ADDRESS}/24 dev ${CLUSTER_BRIDGE}`,
    `link set ${CLUSTER_BRIDGE} up`,
    ...nodes.flatMap(nodePort),
    ...nodes.map((node) => `route add ${podCidr(node)} via ${node.address}`),
  ];
}

/** In the control plane's namespace: a node's own namespace, plugged in. */
export function nodePort(node: NodePlan): string[] {
  return [
    `netns add ${nodeNamespace(node)}`,
    `link add ${portOf(node)} type veth peer name eth0 netns ${nodeNamespace(node)}`,
    `link set ${portOf(node)} master ${CLUSTER_BRIDGE} up`,
  ];
}

/** Takes away what `nodePort` made. The kernel deletes links of a namespace later than its name. */
export const noNodePort = (node: NodePlan): string[] => [
  `link del ${portOf(node)}`,
  `netns del ${nodeNamespace(node)}`,
];

const portOf = ({ address }: NodePlan): string => `node${address.slice(address.lastIndexOf(".") + 1)}`;

/** In a node's namespace. */
export function nodeLinks(node: NodePlan, nodes: readonly NodePlan[]): string[] {
  return [
    "link set lo up",
    `addr add ${node.address}/24 dev eth0`,
    "link set eth0 up",
    `route add default via ${CONTROL_PLANE_ADDRESS}`,
    ...nodes.filter((other) => other !== node).map((other) => `route add ${podCidr(other)} via ${other.address}`),
    ...node.bridges.flatMap((bridge) => [`link add ${bridge} type bridge`, `link set ${bridge} up`]),
  ];
}
