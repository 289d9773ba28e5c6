/** Who wrote an object, by the names that writers give themselves. Pure. */

import { FIELD_MANAGER } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

/** The predecessor has the same name, and never applies: it updates. */
export function isAppliedByUs({ metadata }: KubeObject): boolean {
  return (metadata.managedFields ?? []).some(
    ({ manager, operation }) => manager === FIELD_MANAGER && operation === "Apply",
  );
}
