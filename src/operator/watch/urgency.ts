/** How soon a change of a watched object is looked at. Pure. */

import type { KubeObject } from "../../kube/client/resource.ts";

/**
 * `now`: something differs from what was applied or asked for. `soon`: a rollout proceeds. In a large cluster it does so
 * thousands of times, and each report of it goes to everybody who watches the configuration.
 */
export type Urgency = "now" | "soon";

/** Whether the two states of an object differ in nothing but the status. Objects without a generation have none. */
export function onlyStatusChanged(object: KubeObject, old: KubeObject): boolean {
  const { generation } = object.metadata;
  return generation !== undefined && essence(object) === essence(old);
}

function essence({ metadata }: KubeObject): string {
  const { uid, generation, labels, annotations, finalizers, ownerReferences, deletionTimestamp } = metadata;
  return JSON.stringify([uid, generation, labels, annotations, finalizers, ownerReferences, deletionTimestamp]);
}
