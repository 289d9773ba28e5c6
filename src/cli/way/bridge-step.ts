import { type NodeWithBridge, nodesHaving, nodeText, notNow, notNowBecause } from "../../api/landing.ts";
import { nodesHave } from "../../api/network-text.ts";
import type { Step } from "../../api/way.ts";
import type { NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import { type BridgeOnNode, checkNodes, verdictOnNode } from "../../nad-lint/node-checks.ts";
import type { WayFacts } from "./facts.ts";
import type { NetworkOnBridge } from "./network-on-bridge.ts";
import { named, ok, unknown, wrong } from "./step.ts";
import { toldBridge } from "./told-steps.ts";

/**
 * Which nodes have the bridge, and where a VM could start, by the rule of the views of networks. Of one that has a node already,
 * the kernel of that node says more.
 */
export function bridge(facts: WayFacts, network: NetworkOnBridge, hasNode: boolean, told?: NetworkView): Step {
  const { bridge: name, makesBridge, nad } = network;
  if (makesBridge) return ok("bridge", `the plugin makes ${name} on each node, because the network has a gateway`);
  if ("unknown" in facts.nodes && told !== undefined) return toldBridge(told, hasNode);
  const nodes = nodesWithBridges(facts);
  if ("unknown" in nodes) return unknown("bridge", `nodes are ${nodes.unknown}`);
  const on = reportedOn(facts, network);
  const all = nodes.value ?? [];
  const having = nodesHaving(name, all, new Set(on.map(({ node }) => node))).map((one) =>
    network.asksForBridge ? one : { ...one, publishes: true },
  );
  const count = nodesHave(having.length, all.length, name);
  if (having.length === 0) {
    return wrong("bridge", count, `Make ${name} on a node, or correct "bridge" in ${nad.namespace}/${nad.name}.`);
  }
  const text = `${count}: ${named(having.map(nodeText))}`;
  if (hasNode) return ok("bridge", text);
  const now = notNow(name, having);
  if (now !== undefined) return wrong("bridge", `${text}. No VM can land now: ${now.because}`, now.remedy);
  return startable(on, network, having, text);
}

function startable(
  reported: readonly BridgeOnNode[],
  { config, nad, bridge: name }: NetworkOnBridge,
  having: readonly NodeWithBridge[],
  text: string,
): Step {
  const taking = having.filter((one) => notNowBecause(name, one) === undefined).map(({ node }) => node);
  const on = reported.filter(({ node }) => taking.includes(node));
  const failing = on.filter((one) => verdictOnNode(config, one) === "Fails");
  const doubtful = failing.length > 0 ? failing : on.filter((one) => verdictOnNode(config, one) === "Warning");
  const [said] = checkNodes(config, doubtful, "").filter(({ severity }) => severity !== "note");
  if (said === undefined) return ok("bridge", text);
  if (failing.length < taking.length) return ok("bridge", `${text}. Warning: ${said.message}`);
  const remedy = `kubectl macpool network ${nad.name} -n ${nad.namespace} shows each node.`;
  return wrong("bridge", `${text}. It starts on none: ${said.message}`, remedy);
}

/** The bridge as the nodes say how it is set. */
function reportedOn({ reports }: WayFacts, network: NetworkOnBridge): readonly BridgeOnNode[] {
  const known = ("value" in reports ? reports.value : undefined) ?? [];
  return known.flatMap(({ metadata: { name: node = "" }, bridges = [] }) =>
    bridges.filter(({ name }) => name === network.bridge).map((found) => ({ node, ...found })),
  );
}

/** By the capacity of nodes, and for who may not list nodes by their reports. */
function nodesWithBridges({ nodes, reports }: WayFacts): WayFacts["nodes"] {
  if ("value" in nodes || "unknown" in reports) return nodes;
  const value = (reports.value ?? []).flatMap(({ metadata: { name = "" }, bridges }) =>
    bridges === undefined ? [] : [{ name, states: [], bridges: bridges.map((one) => one.name) }],
  );
  // A node that does not report its bridges may have it.
  return value.length > 0 && value.length === reports.value?.length ? { value } : nodes;
}
