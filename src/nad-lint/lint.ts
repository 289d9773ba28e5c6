import { interfaceNameFault } from "../../cni-plugins/protocol/identifier.ts";
import { type Finding, finding, worstFirst } from "./finding.ts";
import { ipamFault } from "./ipam-checks.ts";
import { readNetworkConfig } from "./network-config.ts";
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
  /** Another network of the namespace that leads to the same bridge and VLAN: its name, or undefined. */
  readonly sameSegment?: (segment: string) => string | undefined;
}

const DEFAULT_VLAN = 1;

/** The name under which only VMs' networks name the plugin. */
const VM_PLUGIN = "cnv-bridge";

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
    // A pod is placed by one bridge: the first.
    if (!seen) findings.push(...checkPlace(network, read, surroundings));
    seen = true;
  }
  return worstFirst(findings);
}

/** What the plugin takes, and what will not do what was meant. */
function checkBridge({ request, bridge }: ReadPlugin, place: string): Finding[] {
  if (request === undefined || bridge === undefined) return [];
  const findings: Finding[] = [];
  const say = (...[code, message]: Parameters<typeof finding>): void => {
    findings.push(finding(code, place + message));
  };
  const { vlans, mtu } = bridge;
  if (bridge.addressing !== undefined) {
    const { ipam } = bridge.addressing;
    const fault = ipamFault(request.config.object("ipam"));
    if (fault !== undefined) say("ipam-refuses", `${fault}. IPAM plugin ${ipam} refuses it: pods will not start.`);
    if (request.config.raw("type") === VM_PLUGIN) {
      say(
        "ipam-of-vm",
        `"ipam" is for pods: a VM is another pod after each start and migration. Leave it out, and set addresses in the guest.`,
      );
    }
  }
  if (vlans?.accessNamed && vlans.trunk.includes(vlans.access)) {
    say(
      "vlan-in-trunk",
      `"vlan" ${vlans.access} is in "vlanTrunk" too: it is tagged then, and untagged frames of the VM are lost. Take it out of one of them.`,
    );
  }
  if (vlans !== undefined && !vlans.enableFiltering && !vlans.requireFiltering) {
    say(
      "vlan-unfiltered",
      `the VLANs are apart only if ${bridge.bridge} filters them, which nodes do not publish. If it does not, the plugin warns and goes on. Write "requireVlanFiltering": true to make it refuse.`,
    );
  }
  if (vlans !== undefined && !vlans.preserveDefault) {
    say(
      "vlan-1-kept",
      `new ports leave VLAN ${DEFAULT_VLAN}. Ports that plugins of v1.5.1 or earlier made stay in it until their pods start anew.`,
    );
  }
  if (typeof mtu === "number") {
    say(
      "mtu-above-bridge",
      `if ${bridge.bridge} has an MTU below ${mtu}, which nodes do not publish, it drops larger frames. Write "mtu": "inherit" to take the bridge's.`,
    );
  }
  return findings;
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
      finding("same-network", `${segment} is network ${other} too: VMs of both meet. Use one name, or another VLAN.`),
    );
  }
  return findings;
}
