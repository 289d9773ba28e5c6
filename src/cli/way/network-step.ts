import { type NadRef, WRITE_NETWORK_NAME } from "../../api/claim-network.ts";
import type { Step } from "../../api/way.ts";
import type { NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import type { Finding } from "../../nad-lint/finding.ts";
import { lintNetworks, missingNetwork, type Network } from "../networks.ts";
import type { WayFacts, WayInterface } from "./facts.ts";
import type { NetworkOnBridge } from "./network-on-bridge.ts";
import { ok, quoted, unknown, wrong } from "./step.ts";
import { toldNetwork } from "./told-steps.ts";

/** The network that an interface asks for, and what the lint finds in it. */

export function network(facts: WayFacts, nic: WayInterface, bridged: NetworkOnBridge | undefined): Step {
  const { nad, network, told, nameFault } = nic;
  if (nameFault !== undefined) return wrong("network", quoted(nameFault), WRITE_NETWORK_NAME);
  if (nad === undefined) return ok("network", "the pod network, which needs no bridge of the node");
  const name = quoted(`${nad.namespace}/${nad.name}`);
  if ("unknown" in network) return told ? toldNetwork(told) : unknown("network", `${name} is ${network.unknown}`);
  if (network.value === undefined) {
    const { text, remedy } = missingNetwork(name);
    return wrong("network", text, remedy);
  }
  const findings = findingsIn(facts, network.value, told);
  // With a key that is ignored, a VM starts and its frames pass.
  const errors = findings.filter(({ severity, code }) => severity === "error" && code !== "key-ignored");
  const [error] = errors;
  if (error !== undefined) {
    const remedy = `Correct NetworkAttachmentDefinition ${name}, then start the VM or pod again.`;
    return wrong("network", `${name}: ${quoted(error.message)}${more(errors, nad)}`, remedy);
  }
  const warnings = findings.filter(({ severity }) => severity !== "note");
  const [warning] = warnings;
  const said = warning === undefined ? "" : `. Warning: ${quoted(warning.message)}${more(warnings, nad)}`;
  return ok("network", `${name}: ${describeNetwork(network.value, bridged)}${said}`);
}

type SomeFinding = Pick<Finding, "severity" | "message"> & { readonly code: string };

/** What is said of the nodes is said by steps of their own. */
function findingsIn({ networks }: WayFacts, network: Network, told: NetworkView | undefined): readonly SomeFinding[] {
  if ("value" in networks) return lintNetworks([network], {}, networks.value)[0] ?? [];
  const [own = []] = lintNetworks([network]);
  return [...own, ...(told?.findings.filter(({ code }) => code === SAME_NETWORK) ?? [])];
}

const SAME_NETWORK: Finding["code"] = "same-network";

function more([, ...others]: readonly SomeFinding[], { namespace, name }: NadRef): string {
  const lint = `kubectl get network-attachment-definitions ${name} -n ${namespace} -o yaml | kubectl macpool lint -f -`;
  const isOfOthers = others.some(({ code }) => code === SAME_NETWORK);
  const all = isOfOthers ? `kubectl macpool network ${name} -n ${namespace}` : lint;
  return others.length > 0 ? ` (and ${others.length} more: ${all})` : "";
}

function describeNetwork({ config }: Network, bridged: NetworkOnBridge | undefined): string {
  if (bridged !== undefined) return [`bridge ${bridged.bridge}`, bridged.vlansText].filter(Boolean).join(", ");
  return config === "" ? "its configuration is a file of each node" : "its plugin is not the bridge plugin";
}
