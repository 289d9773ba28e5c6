import type { BridgeConfig } from "../../cni-plugins/bridge/config.ts";
import { newInterfaceNameFault } from "../../cni-plugins/cni/identifier.ts";
import type { NodeWithBridge } from "../api/landing.ts";
import type { Mac } from "../api/mac.ts";
import { checkBridge, LOOPBACK } from "./bridge-checks.ts";
import { type Finding, finding, worstFirst } from "./finding.ts";
import { checkAllowedMacs, checkMacs } from "./mac-checks.ts";
import { readNetworkConfig } from "./network-config.ts";
import { type BridgeOnNode, checkNodes, checkTunedMtu, noteUplinks } from "./node-checks.ts";
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

export interface NodesWith {
  /** Nodes that publish the bridge, or report that they have it. */
  readonly having: readonly NodeWithBridge[];
  /** Of all nodes. */
  readonly total: number;
}

/** What is known of the cluster; offline, nothing. */
export interface ClusterFacts {
  /** Undefined where nobody knows yet. */
  readonly nodesWith?: (bridge: string) => NodesWith | undefined;
  /** The nodes that have the bridge, as far as they say how it is set; undefined where nobody knows yet. */
  readonly bridgesOn?: (bridge: string) => readonly BridgeOnNode[] | undefined;
  /** Another network that leads to the same bridge and VLAN, as a message speaks of it to the writer of this one. */
  readonly sameSegment?: (segment: string) => string | undefined;
  /** The name of a MACPool that has an address from the first to the last. */
  readonly poolWith?: (first: Mac, last: Mac) => string | undefined;
}

const SECOND_BRIDGE =
  "the interface is there already, made by plugin bridge before it: pods will not start. Write a network for each bridge.";

/** The worst first. Throws only for a defect of its own. */
export function lintNetwork(network: Network, cluster: ClusterFacts = {}): Finding[] {
  const config = readNetworkConfig(network.config, network.name);
  if (config.form === "on the node") return [];
  if (config.form === "unreadable") return [finding("config-unreadable", config.reason)];
  const findings = config.total > config.calls.length ? [unseen(config.calls.length, config.total)] : [];
  let made: BridgeConfig | undefined;
  let seen = false;
  for (const call of config.calls) {
    const plugin = pluginOf(call);
    if (plugin === undefined) {
      findings.push(...checkMacs(call));
      continue;
    }
    const read = readPlugin(call, plugin);
    findings.push(...read.findings);
    if (read.bridge !== undefined || read.tuning !== undefined) findings.push(...checkMacs(call));
    if (made !== undefined && read.tuning?.mtu !== undefined) {
      findings.push(...checkTunedMtu(made, read.tuning.mtu, cluster.bridgesOn?.(made.bridge), call.place));
    }
    if (plugin !== "bridge") continue;
    if (made !== undefined) findings.push(finding("plugin-refuses", call.place + SECOND_BRIDGE));
    made = read.bridge ?? made;
    findings.push(...checkBridge(read, call.place));
    if (read.bridge !== undefined) {
      if (cluster.poolWith !== undefined) {
        findings.push(...checkAllowedMacs(read.bridge, cluster.poolWith, call.place));
      }
      const { bridge } = read.bridge;
      const on = cluster.bridgesOn?.(bridge);
      findings.push(...checkNodes(read.bridge, on, call.place), ...noteUplinks(bridge, on, call.place));
    }
    // A pod is placed by one bridge: the first.
    if (!seen) findings.push(...checkPlace(network, read, cluster));
    seen = true;
  }
  return worstFirst(findings);
}

function unseen(seen: number, total: number): Finding {
  const message = `"plugins" has ${total} plugins, and those after plugins[${seen - 1}] were not looked at.`;
  return finding("plugins-unseen", `${message} Write a shorter list.`);
}

/** Which nodes pods go to, and whom they meet there. */
function checkPlace(network: Network, { request, bridge }: ReadPlugin, cluster: ClusterFacts): Finding[] {
  const name = bridge?.bridge ?? request?.config.raw("bridge");
  if (typeof name !== "string" || name === LOOPBACK || newInterfaceNameFault(name) !== undefined) return [];
  const { gateway = false, forceAddress = false } = bridge?.addressing ?? {};
  const nodes = cluster.nodesWith?.(name);
  // With a gateway, the plugin makes the bridge on each node as it should be.
  const findings = gateway ? [] : checkResource(network.annotations, name, nodes);
  const segment = bridge && segmentOf(bridge);
  const other = segment === undefined ? undefined : cluster.sameSegment?.(segment);
  if (other !== undefined) {
    const advice = "Use one name, or another VLAN to keep them apart.";
    const refused = "If it gives the bridge another gateway, pods of one of the two do not start: use another bridge.";
    const message = `${other} leads to ${segment} too: VMs of both reach each other.`;
    findings.push(finding("same-network", `${message} ${gateway && !forceAddress ? refused : advice}`));
  }
  return findings;
}
