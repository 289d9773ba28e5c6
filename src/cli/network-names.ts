import { networkNameFault, WRITE_NETWORK_NAME } from "../api/claim-network.ts";
import { NETWORKS_ANNOTATION } from "../api/names.ts";
import { parseNetworkSelection } from "../api/network-selection.ts";
import { at, listAt, textAt } from "../kube/json-path.ts";

/** What is wrong with the names of networks in a VM, a VMI or a pod: nothing that uses them starts, and no server refuses some. */
export function wrongNetworkNames(object: object, kind: string): string[] {
  if (kind === "Pod") {
    const selection = parseNetworkSelection(textAt(object, "metadata", "annotations", NETWORKS_ANNOTATION));
    if (selection.form !== "malformed") return [];
    return [`annotation ${NETWORKS_ANNOTATION} can't be read: ${selection.reason}. The pod does not start.`];
  }
  return listAt(at(object, "spec", "template", "spec") ?? at(object, "spec"), "networks").flatMap((network) => {
    const multus = at(network, "multus") ?? undefined;
    const fault = multus === undefined ? undefined : networkNameFault(at(multus, "networkName"));
    return fault === undefined
      ? []
      : [`network ${JSON.stringify(textAt(network, "name"))}: ${fault}. ${WRITE_NETWORK_NAME}`];
  });
}
