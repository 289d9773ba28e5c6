import type { DaemonSet, Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { ObjectRef } from "../../../src/kube/client/resource.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import type { InstalledOperator } from "./installed-operator.ts";

/** A pod `NAME-own` of the DaemonSet, and a pod `NAME-theirs` that only has the same labels. Creates neither. */
export async function podsLike({ admin }: InstalledOperator, ref: ObjectRef): Promise<readonly Pod[]> {
  const { metadata, spec }: DaemonSet = await admin.get(RESOURCES.daemonSets, ref);
  const { name = "", uid = "" } = metadata;
  const labels = spec?.template.metadata?.labels;
  const owner = { apiVersion: "apps/v1", kind: "DaemonSet", name, uid, controller: true };
  const pod = (which: string, ownerReferences: readonly object[]): Pod =>
    ({
      metadata: { name: `${name}-${which}`, namespace: ref.namespace, labels, ownerReferences },
      spec: { containers: [{ name: "c", image: "i" }] },
    }) as Pod;
  return [pod("own", [owner]), pod("theirs", [])];
}
