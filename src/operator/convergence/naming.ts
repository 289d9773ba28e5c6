/** How objects are called in messages and requests. Pure. */

import type { KubeObject, ObjectRef } from "../../kube/client/resource.ts";

export function nameOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return `${object.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

export function refOf(object: KubeObject): ObjectRef {
  const { name = "", namespace } = object.metadata;
  return { name, namespace };
}
