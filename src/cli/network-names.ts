import { networkNameFault, WRITE_NETWORK_NAME } from "../api/claim-network.ts";
import { NETWORKS_ANNOTATION } from "../api/names.ts";
import { parseNetworkSelection } from "../api/network-selection.ts";
import type { KubeObject } from "../kube/client/resource.ts";

interface Guest {
  readonly networks?: unknown;
}

interface Machine {
  readonly spec?: (Guest & { readonly template?: { readonly spec?: Guest | null } | null }) | null;
}

interface Network {
  readonly name?: unknown;
  readonly multus?: { readonly networkName?: unknown } | null;
}

/** What is wrong with the names of networks in a VM, a VMI or a pod: nothing that uses them starts, and not every server refuses them. */
export function wrongNetworkNames(object: KubeObject, kind: string): string[] {
  if (kind === "Pod") {
    const annotation: unknown = object.metadata.annotations?.[NETWORKS_ANNOTATION];
    const selection = parseNetworkSelection(typeof annotation === "string" ? annotation : "");
    if (selection.form !== "malformed") return [];
    return [`annotation ${NETWORKS_ANNOTATION} can't be read: ${selection.reason}. The pod does not start.`];
  }
  const { spec } = object as Machine;
  const { networks } = spec?.template?.spec ?? spec ?? {};
  return (Array.isArray(networks) ? networks : []).flatMap((network: Network | null) => {
    const { name, multus } = network ?? {};
    const fault = multus === undefined || multus === null ? undefined : networkNameFault(multus.networkName);
    return fault === undefined ? [] : [`network ${JSON.stringify(name)}: ${fault}. ${WRITE_NETWORK_NAME}`];
  });
}
