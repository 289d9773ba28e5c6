import type { NodeBridge, NodeMACs, NodeUplink } from "../../api/node-macs.ts";
import type { Step } from "../../api/way.ts";
import { hasVlan, USUAL_MTU, verdictOnNode } from "../../nad-lint/node-checks.ts";
import { describeVlans } from "../../nad-lint/segment.ts";
import type { Read } from "./facts.ts";
import type { NetworkOnBridge } from "./network-on-bridge.ts";
import { named, ok, staysOn, unknown, wrong } from "./step.ts";

/**
 * The bridge in the kernel of a node, as far as the node's own report says it. The port of the VM and its rules are in no
 * report, so nothing is said about them.
 */

interface KernelSteps {
  readonly kernel: Step;
  /** How frames leave the node; absent where that is not known. */
  readonly leaving?: Step;
}

export function kernelSteps(reports: Read<readonly NodeMACs[]>, node: string, network: NetworkOnBridge): KernelSteps {
  if ("unknown" in reports) return { kernel: unknown("kernel", `the report of ${node} is ${reports.unknown}`) };
  const report = reports.value?.find(({ metadata }) => metadata.name === node);
  if (report?.bridges === undefined) {
    const remedy = "Look whether the bridge-marker runs there.";
    return { kernel: unknown("kernel", `${node} does not report its bridges`, remedy) };
  }
  const bridge = report.bridges.find(({ name }) => name === network.bridge);
  if (bridge === undefined) {
    const remedy = `Make ${network.bridge} on ${node}, or let the marker publish it.`;
    return { kernel: wrong("kernel", `${node} does not report a bridge ${network.bridge}`, remedy) };
  }
  const fault = faultOf(bridge, node, network);
  if (fault !== undefined) return { kernel: fault };
  const { uplinks } = bridge;
  const set = `${bridge.name} of ${node}: MTU ${bridge.mtu}${bridge.vlanFiltering ? ", filters VLANs" : ""}`;
  if (uplinks === undefined) return { kernel: unknown("kernel", `${set}; its uplinks are not reported`) };
  if (uplinks.length === 0) {
    return { kernel: ok("kernel", `${set}; no uplink`), leaving: staysOn(node) };
  }
  const passing = uplinks.filter((uplink) => uplink.carrier && passes(bridge, uplink, network));
  if (passing.length === 0) return { kernel: unknown("kernel", `${set}; VLANs of its uplinks are not reported`) };
  const names = named(passing.map(({ name }) => name));
  return {
    kernel: ok("kernel", `${set}; ${names} up`),
    leaving: ok("frames", `${framesOf(bridge, passing, network)} leave ${node} by ${names}`),
  };
}

/** What to do about a node where the plugin refuses the network; undefined where it does not, or where nobody knows. */
export function remedyOfRefusal(
  reports: Read<readonly NodeMACs[]>,
  node: string,
  network: NetworkOnBridge,
): string | undefined {
  const known = ("value" in reports ? reports.value : undefined) ?? [];
  const report = known.find(({ metadata }) => metadata.name === node);
  const bridge = report?.bridges?.find(({ name }) => name === network.bridge);
  const isRefused = bridge !== undefined && verdictOnNode(network.config, { node, ...bridge }) === "Fails";
  return isRefused ? faultOf(bridge, node, network)?.remedy : undefined;
}

/** The first thing that keeps frames of the network from passing the bridge and an uplink. */
function faultOf(bridge: NodeBridge, node: string, network: NetworkOnBridge): Step | undefined {
  const { name, mtu, vlanFiltering, canFilterVlans = true, uplinks = [] } = bridge;
  const { vlans, vlansText } = network;
  const filtering = `On ${node}: ip link set ${name} type bridge vlan_filtering 1`;
  if (vlans.length > 0 && !canFilterVlans) {
    const text = `the kernel of ${node} can't filter VLANs: nothing with ${vlansText} starts there`;
    return wrong(
      "kernel",
      text,
      `Use a kernel with CONFIG_BRIDGE_VLAN_FILTERING on ${node}, or a network without a VLAN.`,
    );
  }
  if (vlans.length > 0 && !vlanFiltering) {
    return wrong("kernel", `${name} of ${node} does not filter VLANs: ${vlansText} is not kept apart`, filtering);
  }
  if (vlanFiltering && vlans.length === 0 && bridge.defaultVlan === 0) {
    const text = `${name} of ${node} filters VLANs and has no default VLAN: untagged frames are dropped`;
    return wrong("kernel", text, `Write "vlan" in ${network.nad.namespace}/${network.nad.name}.`);
  }
  const wanted = mtuOf(network, mtu);
  if (mtu < wanted) {
    const text = `${name} of ${node} has MTU ${mtu}, the network ${wanted}: larger frames are dropped`;
    return wrong("kernel", text, 'Write "mtu": "inherit" in the network, or raise that of the bridge.');
  }
  const [first] = uplinks;
  if (first === undefined) return undefined;
  const up = uplinks.filter(({ carrier }) => carrier);
  if (up.length === 0) {
    const text = `no carrier at ${named(uplinks.map((one) => one.name))} of ${node}: no frame leaves the node`;
    return wrong("kernel", text, "Look at the cable, and at the port of the switch.");
  }
  const lacking = wantedVlans(bridge, network).filter((id) => up.every((uplink) => !mayPass(uplink, id)));
  if (bridge.vlanFiltering && lacking[0] !== undefined) {
    const text = `no uplink of ${name} on ${node} passes ${describeVlans(lacking)}: frames do not leave the node`;
    return wrong("kernel", text, `On ${node}: bridge vlan add dev ${up[0]?.name} vid ${lacking[0]}`);
  }
  const small = up.find((uplink) => uplink.mtu < wanted && (passes(bridge, uplink, network) || !vlanFiltering));
  if (small === undefined) return undefined;
  const text = `uplink ${small.name} of ${node} has MTU ${small.mtu}, the network ${wanted}: larger frames do not leave`;
  return wrong("kernel", text, `Raise the MTU of ${small.name}, or lower "mtu" of the network.`);
}

function mtuOf({ mtu }: NetworkOnBridge, ofBridge: number): number {
  if (mtu === undefined) return Math.min(ofBridge, USUAL_MTU);
  return mtu === "inherit" ? ofBridge : mtu;
}

/** With filtering, untagged frames of a network without a VLAN are in the default one of the bridge. */
function wantedVlans({ defaultVlan }: NodeBridge, { vlans }: NetworkOnBridge): readonly number[] {
  if (vlans.length > 0) return vlans;
  return defaultVlan === undefined ? [] : [defaultVlan];
}

/** Whether it is known to pass one of the VLANs. */
function passes(bridge: NodeBridge, { vlans }: NodeUplink, network: NetworkOnBridge): boolean {
  if (!bridge.vlanFiltering) return true;
  const wanted = wantedVlans(bridge, network);
  return wanted.length === 0 || (vlans !== undefined && wanted.some((id) => hasVlan(vlans, id)));
}

/** True also where its VLANs are not known. */
const mayPass = ({ vlans }: NodeUplink, id: number): boolean => vlans === undefined || hasVlan(vlans, id);

function framesOf(bridge: NodeBridge, uplinks: readonly NodeUplink[], { vlansText }: NetworkOnBridge): string {
  if (vlansText !== "") return `frames of ${vlansText}`;
  const { vlanFiltering, defaultVlan } = bridge;
  const isTagged = vlanFiltering && defaultVlan && uplinks.some(({ untaggedVlan }) => untaggedVlan !== defaultVlan);
  return isTagged ? `frames of VLAN ${defaultVlan}` : "untagged frames";
}
