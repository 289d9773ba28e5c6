import { NETWORKS_ANNOTATION } from "../../api/names.ts";
import { type NetworkSelection, parseNetworkSelection } from "../../api/network-selection.ts";
import { isFinishedPhase } from "../../api/phase.ts";
import { textAt } from "../../kube/json-path.ts";

/** The attachments that a pod asks multus for. */
export function podNetworks(pod: unknown): NetworkSelection {
  return parseNetworkSelection(textAt(pod, "metadata", "annotations", NETWORKS_ANNOTATION));
}

export function isFinished(pod: unknown): boolean {
  return isFinishedPhase(textAt(pod, "status", "phase"));
}
