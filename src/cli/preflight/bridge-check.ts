import { bridgesOfCapacity } from "../../api/bridge-resource.ts";
import { NETWORK_ATTACHMENT_DEFINITIONS } from "../../api/kinds.ts";
import { awayStates, nodeText } from "../../api/landing.ts";
import { BRIDGE_RESOURCE_PREFIX, NAD_RESOURCE_NAME_ANNOTATION } from "../../api/names.ts";
import { apiVersionOf, type KubeObject } from "../../kube/client/resource.ts";
import { bridgeOfConfig } from "../../nad-lint/segment.ts";
import { networkIn } from "../networks.ts";
import { bounded, type CheckLine, listed, note, ok, unchecked } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import type { PreflightFacts } from "./preflight-facts.ts";
import { keyOf } from "./workloads.ts";

/** Bridges that networks need and no node has, as far as a bridge-marker publishes those of the nodes already. */
export function checkBridges({ networks, nodes, reports }: PreflightFacts): readonly CheckLine[] {
  if ("unknown" in networks) return [unchecked("bridges", "which bridges networks need", networks.unknown)];
  const needed = neededBridges(networks.value ?? []);
  if (needed.size === 0) return [ok("bridges", "No network needs a bridge of the nodes yet.")];
  if ("unknown" in nodes) return [unchecked("bridges", "which bridges nodes have", nodes.unknown)];
  const published = new Set((nodes.value ?? []).flatMap(({ status }) => bridgesOfCapacity(status?.capacity)));
  if (published.size === 0) {
    const text = `Networks need ${listed([...needed.keys()])}. Which nodes have them is known after the installation: no node publishes its bridges yet.`;
    return [note("bridges", text)];
  }
  const missing = [...needed].filter(([bridge]) => !published.has(bridge));
  if (missing.length === 0) {
    return [ok("bridges", `Nodes publish all bridges that networks need: ${listed([...needed.keys()])}.`)];
  }
  const known = new Map((nodes.value ?? []).map((node) => [node.metadata.name, node]));
  const lines = missing.map(([bridge, names]) => {
    const reporting = (knownValue(reports) ?? []).filter(({ bridges = [] }) =>
      bridges.some((one) => one.name === bridge),
    );
    const having = reporting.flatMap(({ metadata: { name = "" } }) => {
      const node = known.get(name);
      return node === undefined ? [] : [nodeText({ node: name, states: awayStates(node) })];
    });
    const but =
      having.length === 0 ? "" : `, though ${listed(having)} ${having.length === 1 ? "reports" : "report"} it`;
    const need = `${names.length === 1 ? "network" : "networks"} ${listed(names)} ${names.length === 1 ? "needs" : "need"}`;
    return note("bridges", `No node publishes ${bridge}, which ${need}${but}: VMs on it wait for a node that does.`);
  });
  return bounded(lines, (count) => note("bridges", `${count} more bridges are published by no node.`));
}

/** Networks by their bridge. With a gateway, the plugin makes the bridge. */
function neededBridges(networks: readonly KubeObject[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const { kind } = NETWORK_ATTACHMENT_DEFINITIONS;
  for (const object of networks) {
    const network = networkIn(
      { object: { ...object, kind, apiVersion: apiVersionOf(NETWORK_ATTACHMENT_DEFINITIONS) } },
      "",
    );
    if (network === undefined) continue;
    const resource = network.annotations[NAD_RESOURCE_NAME_ANNOTATION] ?? "";
    const asked = resource.startsWith(BRIDGE_RESOURCE_PREFIX) ? resource.slice(BRIDGE_RESOURCE_PREFIX.length) : "";
    const config = bridgeOfConfig(network.config ?? "", network.name);
    const bridge = asked || (config?.addressing?.gateway ? "" : (config?.bridge ?? ""));
    if (bridge !== "") found.set(bridge, [...(found.get(bridge) ?? []), keyOf(object)]);
  }
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
}
