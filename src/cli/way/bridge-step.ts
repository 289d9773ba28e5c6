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
  const nodes = publishedBridges(facts);
  if ("unknown" in nodes) return told ? toldBridge(told, hasNode) : unknown("bridge", `nodes are ${nodes.unknown}`);
  const all = nodes.value ?? [];
  const names = all.filter(({ bridges }) => bridges.includes(name)).map((node) => node.name);
  const count = nodesHave(names.length, all.length, name);
  if (names.length === 0) {
    return wrong("bridge", count, `Make ${name} on a node, or correct "bridge" in ${nad.namespace}/${nad.name}.`);
  }
  const text = `${count}: ${named(names.sort())}`;
  return hasNode ? ok("bridge", text) : startable(facts, network, names, text);
}

function startable(facts: WayFacts, network: NetworkOnBridge, names: readonly string[], text: string): Step {
  const { config, nad } = network;
  const on = reportedOn(facts, network).filter(({ node }) => names.includes(node));
  const failing = on.filter((one) => verdictOnNode(config, one) === "Fails");
  const doubtful = failing.length > 0 ? failing : on.filter((one) => verdictOnNode(config, one) === "Warning");
  const [said] = checkNodes(config, doubtful, "").filter(({ severity }) => severity !== "note");
  if (said === undefined) return ok("bridge", text);
  if (failing.length < names.length) return ok("bridge", `${text}. Warning: ${said.message}`);
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

/** The capacity of nodes says which bridges they publish, and so do their reports, for who may not list nodes. */
function publishedBridges({ nodes, reports }: WayFacts): WayFacts["nodes"] {
  if ("value" in nodes || "unknown" in reports) return nodes;
  const value = (reports.value ?? []).flatMap(({ metadata: { name = "" }, bridges }) =>
    bridges === undefined ? [] : [{ name, bridges: bridges.map((one) => one.name) }],
  );
  // A node that does not report its bridges may have it.
  return value.length > 0 && value.length === reports.value?.length ? { value } : nodes;
}
