import { nodesHave } from "../../api/network-text.ts";
import type { Step } from "../../api/way.ts";
import type { BridgeOnNodeView, BridgeView, NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import type { FindingCode } from "../../nad-lint/finding.ts";
import { vlansOf } from "../network-text.ts";
import { named, ok, quoted, staysOn, unknown, wrong } from "./step.ts";

/** Steps of a network by what the pool's service tells of it, where the objects themselves are out of the user's reach. */

/** Of the nodes' bridges: the steps after the network say these. */
const OF_NODES: readonly string[] = [
  "bridge-on-no-node",
  "bridge-not-now",
  "vlan-impossible",
  "vlan-unfiltered",
  "vlan-not-on-uplink",
  "mtu-above-bridge",
  "mtu-below-bridge",
] satisfies FindingCode[];
const OF_UPLINKS: readonly string[] = ["uplink-down", "uplink-missing"];

export function toldNetwork(view: NetworkView): Step {
  const { namespace, name, bridge, findings } = view;
  const network = quoted(`${namespace}/${name}`);
  const error = findings.find(({ severity, code }) => severity === "error" && code !== "key-ignored");
  if (error !== undefined) return wrong("network", `${network}: ${quoted(error.message)}`, showNetwork(view));
  const ofOthers = [...OF_NODES, ...OF_UPLINKS];
  const said = warningOf(findings.find(({ code }) => !ofOthers.includes(code)));
  const leads =
    bridge === undefined
      ? "its plugin is not the bridge plugin"
      : [`bridge ${bridge}`, vlansOf(view)].filter(Boolean).join(", ");
  return ok("network", `${network}: ${leads}${said}`);
}

const warningOf = (finding: NetworkView["findings"][number] | undefined): string =>
  finding === undefined ? "" : `. Warning: ${quoted(finding.message)}`;

/** `hasNode`: the VM or pod has one, so that it matters no more where it could start. */
export function toldBridge(view: NetworkView, hasNode: boolean): Step {
  const { bridge = "", nodes, cells, findings } = view;
  const having = cells.filter(({ verdict }) => verdict !== "NoBridge").map(({ node }) => node);
  const names = having.length > 0 && having.length === nodes.withBridge ? `: ${named(having)}` : "";
  const text = `${nodesHave(nodes.withBridge, nodes.total, bridge)}${names}`;
  if (hasNode) return ok("bridge", text);
  if (nodes.works + nodes.warning + nodes.unknown > 0) {
    return ok("bridge", `${text}${warningOf(findings.find(({ code }) => OF_NODES.includes(code)))}`);
  }
  const away = cells.find(({ verdict }) => verdict === "NotNow");
  if (away !== undefined) {
    const remedy = `Ask an administrator to let VMs on ${away.node} again, or to make ${bridge} on another node.`;
    return wrong("bridge", `${text}. No VM can land now: ${away.node} ${away.reason}`, remedy);
  }
  return wrong("bridge", `${text}. It starts on none`, `Ask an administrator. ${showNetwork(view)}`);
}

/** `hidden`: why the report of the node is not known. */
export function toldKernel(
  view: NetworkView,
  bridge: BridgeView | undefined,
  node: string,
  hidden: string,
): { readonly kernel: Step; readonly leaving: Step } {
  const name = quoted(`${view.namespace}/${view.name}`);
  const leaving = unknown("frames", `by which uplinks frames leave ${node} is ${hidden}`);
  switch (view.cells.find((one) => one.node === node)?.verdict) {
    case "Works":
      return toldSettings(view, bridge && settingsOn(bridge, node), node, hidden);
    case "Warning":
      return { kernel: wrong("kernel", `on ${node}, not all is as ${name} says`, showNetwork(view)), leaving };
    case "Fails":
    case "NoBridge": {
      const text = `on ${node}, nothing on ${name} starts or gets a connection`;
      return { kernel: wrong("kernel", text, showNetwork(view)), leaving };
    }
    default:
      return { kernel: unknown("kernel", `the report of ${node} is ${hidden}`), leaving };
  }
}

/** What the service says of a network that the plugin refuses on the node. */
export function toldRefusal({ cells, findings }: NetworkView, node: string): string | undefined {
  const isRefused = cells.some((one) => one.node === node && one.verdict === "Fails");
  const said = isRefused ? findings.find(({ code }) => code.startsWith("vlan-")) : undefined;
  return said && `Tell an administrator: ${said.message}`;
}

/** Of a node that fits the network. */
function toldSettings(view: NetworkView, on: BridgeSettings | undefined, node: string, hidden: string) {
  const { bridge = "", namespace, name } = view;
  if (on?.uplink === undefined) {
    const leaving = unknown("frames", `by which uplinks frames leave ${node} is ${hidden}`);
    const text = `${node} fits ${quoted(`${namespace}/${name}`)}; MTU and uplinks there are ${hidden}`;
    return { kernel: ok("kernel", text), leaving };
  }
  const set = `${bridge} of ${node}: MTU ${on.mtu}${on.vlanFiltering ? ", filters VLANs" : ""}`;
  if (on.uplink === "none") return { kernel: ok("kernel", `${set}; no uplink`), leaving: staysOn(node) };
  if (on.uplink === "down") {
    const text = `no carrier at the uplinks of ${bridge} on ${node}: no frame leaves the node`;
    const kernel = wrong("kernel", text, "Ask an administrator to look at the cable, and at the port of the switch.");
    return { kernel, leaving: unknown("frames", text) };
  }
  const frames = vlansOf(view) === "" ? "frames" : `frames of ${vlansOf(view)}`;
  const leaving = ok("frames", `${frames} leave ${node} by an uplink that is up; its name is ${hidden}`);
  return { kernel: ok("kernel", `${set}; an uplink up`), leaving };
}

type BridgeSettings = Pick<BridgeOnNodeView, "mtu" | "vlanFiltering" | "uplink">;

/** Of many nodes, the list names only those where the bridge is not as on most; where it is the same on all, that is known. */
function settingsOn(bridge: BridgeView, node: string): BridgeSettings | undefined {
  const named = bridge.on.find((one) => one.node === node);
  const { mtus, filtering, uplink } = bridge;
  const [mtu, ...others] = mtus;
  if (named !== undefined || mtu === undefined || others.length > 0) return named;
  if (filtering === "mixed" || uplink === undefined || uplink === "mixed") return undefined;
  return { mtu, vlanFiltering: filtering === "on", uplink };
}

function showNetwork({ namespace, name }: NetworkView): string {
  return `kubectl macpool network ${name} -n ${namespace} says what is wrong.`;
}
