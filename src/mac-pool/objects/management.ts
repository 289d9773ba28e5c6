import {
  type LabelRequirement,
  meets,
  OPT_OUT,
  POD_NAMESPACES,
  RUN_LEVELS,
  VM_NAMESPACES,
} from "../../api/mac-pool-scope.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { ObjectReference } from "../claims/owner.ts";

/**
 * Whether the pool manages an existing object, by the rules of the webhook configuration.
 * `namespaceLabels`: undefined while the namespace is not known; until then its objects are only observed.
 * `mayOptOut`: whether the label of a single object counts in its namespace.
 * `machine`: the VM of a VMI, whose label opts out both.
 */
export function isManaged(
  kind: ObjectReference["kind"],
  object: KubeObject,
  namespaceLabels: Readonly<Record<string, string>> | undefined,
  excludedNamespaces: readonly string[],
  mayOptOut: () => boolean,
  machine?: KubeObject,
): boolean {
  if (namespaceLabels === undefined) return false;
  if (excludedNamespaces.includes(object.metadata.namespace ?? "")) return false;
  const namespaces = kind === "Pod" ? POD_NAMESPACES : VM_NAMESPACES;
  if (!isInScope(namespaceLabels, namespaces)) return false;
  const isOut = [object, machine].some((each) => each?.metadata.labels?.[namespaces.key] === OPT_OUT);
  return !isOut || !mayOptOut();
}

/** Whether the webhook is called for objects in a namespace with these labels. */
export function isInScope(namespaceLabels: Readonly<Record<string, string>>, namespaces: LabelRequirement): boolean {
  return [namespaces, ...RUN_LEVELS].every((requirement) => meets(namespaceLabels, requirement));
}
