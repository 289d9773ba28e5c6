/** How objects are called in messages and requests. Pure. */

import type { CustomResourceDefinition } from "../../kube/client/built-in-kinds.ts";
import type { KubeObject, ObjectRef } from "../../kube/client/resource.ts";

export function nameOf(object: KubeObject): string {
  const { namespace, name } = object.metadata;
  return `${object.kind} ${namespace === undefined ? name : `${namespace}/${name}`}`;
}

export function refOf(object: KubeObject): ObjectRef {
  const { name = "", namespace } = object.metadata;
  return { name, namespace };
}

/** With its group. */
export function kindOf({ apiVersion = "", kind }: KubeObject): string {
  return `${apiVersion.split("/")[0]} ${kind}`;
}

/** Of a definition: as `kindOf` says it of its objects. */
export function definedKind({ spec }: KubeObject): string {
  const { group, names } = spec as CustomResourceDefinition["spec"];
  return `${group} ${names.kind}`;
}
