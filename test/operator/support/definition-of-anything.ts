/** Kinds of other products, as far as an API server needs them: any content is taken. */

import type { CustomKind } from "../../../src/api/kinds.ts";
import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";

/** `required`: fields without which an object is refused. */
export function definitionOfAnything(
  { group, version, kind, plural, ...rest }: CustomKind,
  required: string[] = [],
): CustomResourceDefinition {
  const schema = { openAPIV3Schema: { type: "object", required, "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: rest.namespaced ? "Namespaced" : "Cluster",
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}
