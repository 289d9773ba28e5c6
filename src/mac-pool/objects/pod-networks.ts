import { NETWORKS_ANNOTATION } from "../../api/names.ts";
import { type NetworkElement, type NetworkSelection, parseNetworkSelection } from "../../api/network-selection.ts";
import { textAt } from "../../kube/json-path.ts";

/** The attachments that a pod asks multus for. */
export function podNetworks(pod: unknown): NetworkSelection {
  return parseNetworkSelection(textAt(pod, "metadata", "annotations", NETWORKS_ANNOTATION));
}

/** The network of an attachment as claims and texts name it. */
export function networkOf({ namespace, name }: NetworkElement): string {
  return `multus ${namespace === "" ? name : `${namespace}/${name}`}`;
}

/** The NetworkAttachmentDefinition that a network of an object in the namespace is; undefined for any other network. */
export function nadOf(
  network: string | undefined,
  namespace: string,
): { readonly namespace: string; readonly name: string } | undefined {
  const [, owner = namespace, name] = /^multus (?:([^/ ]+)\/)?([^/ ]+)$/.exec(network ?? "") ?? [];
  return name === undefined ? undefined : { namespace: owner, name };
}

export function isFinished(pod: unknown): boolean {
  const phase = textAt(pod, "status", "phase");
  return phase === "Succeeded" || phase === "Failed";
}
