/**
 * Which networks a pod asks multus for, as its annotations say. Pure. Tenants write them, so that what is read is bounded:
 * the answer is short whatever they contain.
 */

import { DEFAULT_NETWORK_ANNOTATION, NETWORKS_ANNOTATION, SYSTEM_NAMESPACE } from "../api/names.ts";
import { parseNetworkSelection, unreadable } from "../api/network-selection.ts";

/** A network that the pod asks for, once or several times. */
export interface RequestedNetwork {
  readonly namespace: string;
  readonly name: string;
  /** Attachments to it. */
  readonly count: number;
  /** The first annotation that names it. */
  readonly annotation: string;
  /** multus' own configuration gives the namespace, so a miss proves nothing. */
  readonly namespaceGuessed: boolean;
}

export interface RequestedNetworks {
  readonly networks: readonly RequestedNetwork[];
  /** One sentence each, about what is not read. */
  readonly warnings: readonly string[];
}

/** multus looks here for a default network without a namespace, unless its own configuration says otherwise. OpenShift's does not. */
export const MULTUS_NAMESPACE = SYSTEM_NAMESPACE;

/** The API server refuses a pod whose annotations have more bytes in all. */
const MAX_ANNOTATION_CHARS = 262_144;
/** More than a node offers of a bridge. */
const MAX_ATTACHMENTS = 1_024;
/** Distinct ones. Each may cost a question to the API server. */
const MAX_NETWORKS = 64;

const OTHERS_IGNORED = "The others are not looked at, and the pod may be scheduled to a node without them";

/** `namespace`: the pod's. */
export function requestedNetworks(annotations: Readonly<Record<string, string>>, namespace: string): RequestedNetworks {
  const networks = new Map<string, { -readonly [Field in keyof RequestedNetwork]: RequestedNetwork[Field] }>();
  const warnings = new Set<string>();
  const read = (annotation: string, defaultNamespace: string, isDefaultNetwork: boolean): void => {
    const text = annotations[annotation] ?? "";
    if (text.length > MAX_ANNOTATION_CHARS) return;
    const selection = parseNetworkSelection(text, MAX_ATTACHMENTS);
    if (selection.form === "none") return;
    if (selection.form === "malformed") {
      warnings.add(unreadable(annotation, selection.reason));
      return;
    }
    const { elements, cut } = selection;
    if (isDefaultNetwork && elements.length > 1) {
      warnings.add(unreadable(annotation, "it names more than one network"));
      return;
    }
    if (cut)
      warnings.add(`annotation ${annotation} asks for more than ${MAX_ATTACHMENTS} attachments. ${OTHERS_IGNORED}.`);
    for (const element of elements) {
      const network = { namespace: element.namespace || defaultNamespace, name: element.name };
      const key = `${network.namespace}/${network.name}`;
      const known = networks.get(key);
      if (known !== undefined) known.count += 1;
      else if (networks.size < MAX_NETWORKS) {
        const namespaceGuessed = isDefaultNetwork && element.namespace === "";
        networks.set(key, { ...network, count: 1, annotation, namespaceGuessed });
      } else warnings.add(`it asks for more than ${MAX_NETWORKS} different networks. ${OTHERS_IGNORED}.`);
    }
  };
  read(NETWORKS_ANNOTATION, namespace, false);
  read(DEFAULT_NETWORK_ANNOTATION, MULTUS_NAMESPACE, true);
  return { networks: [...networks.values()], warnings: [...warnings] };
}
