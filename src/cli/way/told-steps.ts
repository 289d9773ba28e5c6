import { nodesHave } from "../../api/network-text.ts";
import type { Step } from "../../api/way.ts";
import type { NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import { vlansOf } from "../network-text.ts";
import { named, ok, quoted, unknown, wrong } from "./step.ts";

/** Steps of a network by what the pool's service tells of it, where the objects themselves are out of the user's reach. */

export function toldNetwork(view: NetworkView): Step {
  const { namespace, name, bridge, findings } = view;
  const network = quoted(`${namespace}/${name}`);
  const error = findings.find(({ severity, code }) => severity === "error" && code !== "key-ignored");
  if (error !== undefined) return wrong("network", `${network}: ${quoted(error.message)}`, showNetwork(view));
  const [warning] = findings;
  const said = warning === undefined ? "" : `. Warning: ${quoted(warning.message)}`;
  const leads =
    bridge === undefined
      ? "its plugin is not the bridge plugin"
      : [`bridge ${bridge}`, vlansOf(view)].filter(Boolean).join(", ");
  return ok("network", `${network}: ${leads}${said}`);
}

/** `hasNode`: the VM or pod has one, so that it matters no more where it could start. */
export function toldBridge(view: NetworkView, hasNode: boolean): Step {
  const { bridge = "", nodes, cells } = view;
  const having = cells.filter(({ verdict }) => verdict !== "NoBridge").map(({ node }) => node);
  const names = having.length > 0 && having.length === nodes.withBridge ? `: ${named(having)}` : "";
  const text = `${nodesHave(nodes.withBridge, nodes.total, bridge)}${names}`;
  if (nodes.works + nodes.warning + nodes.unknown > 0 || hasNode) return ok("bridge", text);
  return wrong("bridge", `${text}. It starts on none`, showNetwork(view));
}

/** `hidden`: why the report of the node is not known. */
export function toldKernel(view: NetworkView, node: string, hidden: string): Step {
  const name = quoted(`${view.namespace}/${view.name}`);
  switch (view.cells.find((one) => one.node === node)?.verdict) {
    case "Works":
      return ok("kernel", `${node} fits ${name}; MTU and uplinks there are ${hidden}`);
    case "Warning":
      return wrong("kernel", `on ${node}, not all is as ${name} says`, showNetwork(view));
    case "Fails":
    case "NoBridge":
      return wrong("kernel", `on ${node}, nothing on ${name} starts or gets a connection`, showNetwork(view));
    default:
      return unknown("kernel", `the report of ${node} is ${hidden}`);
  }
}

function showNetwork({ namespace, name }: NetworkView): string {
  return `kubectl macpool network ${name} -n ${namespace} says what is wrong.`;
}
