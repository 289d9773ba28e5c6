import { POD_WEBHOOK, VM_WEBHOOK } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Party } from "../core/party.ts";

/**
 * Whether the pool manages an object, by the labels of its namespace and its own: the same rules as in the webhook
 * configuration, for objects that exist already. VMs are managed unless opted out, pods only where opted in.
 * `namespaceLabels`: undefined where the namespace is not known (yet): its objects are observed until it is.
 * `machine`: the VM that a VMI is made of, which has opted out for both.
 */
export function isManaged(
  kind: Party["kind"],
  object: KubeObject,
  namespaceLabels: Readonly<Record<string, string>> | undefined,
  excludedNamespaces: readonly string[],
  machine?: KubeObject,
): boolean {
  if (namespaceLabels === undefined) return false;
  if (excludedNamespaces.includes(object.metadata.namespace ?? "")) return false;
  if (RUN_LEVEL_LABELS.some((label) => ["0", "1"].includes(namespaceLabels[label] ?? ""))) return false;
  const label = kind === "Pod" ? POD_WEBHOOK : VM_WEBHOOK;
  if ([object, machine].some((each) => each?.metadata.labels?.[label] === "ignore")) return false;
  return kind === "Pod" ? namespaceLabels[label] === "allocate" : namespaceLabels[label] !== "ignore";
}

const RUN_LEVEL_LABELS = ["runlevel", "openshift.io/run-level"];
