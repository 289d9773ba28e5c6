import { interfaceNameFault } from "../../cni-plugins/protocol/identifier.ts";
import { checkBridge } from "./bridge-checks.ts";
import { type Finding, finding, worstFirst } from "./finding.ts";
import { readNetworkConfig } from "./network-config.ts";
import { type BridgeOnNode, checkNodes } from "./node-checks.ts";
import { pluginOf, type ReadPlugin, readPlugin } from "./plugin-checks.ts";
import { checkResource } from "./resource-checks.ts";
import { segmentOf } from "./segment.ts";

/** What of a NetworkAttachmentDefinition is looked at. */
export interface Network {
  /** Empty where the API server makes one up. */
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** `spec.config`. */
  readonly config: string;
}

/** What is known of the cluster; offline, nothing. */
export interface Surroundings {
  /** Undefined where nobody knows yet. */
  readonly nodesWith?: (bridge: string) => { readonly count: number; readonly total: number } | undefined;
  /** The nodes that publish the bridge, as far as they say how it is set; undefined where nobody knows yet. */
  readonly bridgesOn?: (bridge: string) => readonly BridgeOnNode[] | undefined;
  /** Another network that leads to the same bridge and VLAN, as a message speaks of it to the writer of this one. */
  readonly sameSegment?: (segment: string) => string | undefined;
}

/** The worst first. Throws only for a defect of its own. */
export function lintNetwork(network: Network, surroundings: Surroundings = {}): Finding[] {
  const config = readNetworkConfig(network.config, network.name);
  if (config.form === "on the node") return [];
  if (config.form === "unreadable") return [finding("config-unreadable", config.reason)];
  const findings: Finding[] = [];
  let seen = false;
  for (const call of config.calls) {
    const plugin = pluginOf(call);
    if (plugin === undefined) continue;
    const read = readPlugin(call, plugin);
    findings.push(...read.findings);
    if (plugin !== "bridge") continue;
    findings.push(...checkBridge(read, call.place));
    if (read.bridge !== undefined) {
      findings.push(...checkNodes(read.bridge, surroundings.bridgesOn?.(read.bridge.bridge), call.place));
    }
    // A pod is placed by one bridge: the first.
    if (!seen) findings.push(...checkPlace(network, read, surroundings));
    seen = true;
  }
  return worstFirst(findings);
}

/** Which nodes pods go to, and whom they meet there. */
function checkPlace(network: Network, { request, bridge }: ReadPlugin, surroundings: Surroundings): Finding[] {
  const name = bridge?.bridge ?? request?.config.raw("bridge");
  if (typeof name !== "string" || interfaceNameFault(name) !== undefined) return [];
  // With a gateway, the plugin makes the bridge on each node as it should be.
  if (bridge?.addressing?.gateway) return [];
  const nodes = surroundings.nodesWith?.(name);
  const findings = checkResource(network.annotations, name, nodes);
  const segment = bridge && segmentOf(bridge);
  const other = segment === undefined ? undefined : surroundings.sameSegment?.(segment);
  if (other !== undefined) {
    findings.push(
      finding(
        "same-network",
        `${other} leads to ${segment} too: VMs of both reach each other. Use one name, or another VLAN to keep them apart.`,
      ),
    );
  }
  return findings;
}
