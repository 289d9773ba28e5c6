/** The two kinds of the Prometheus operator that this product uses, as far as an API server needs them: any content is taken. */

import { type CustomKind, PROMETHEUS_RULES, SERVICE_MONITORS } from "../../../src/api/kinds.ts";
import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";

export const PROMETHEUS_OPERATOR_CRDS = [SERVICE_MONITORS, PROMETHEUS_RULES].map(definitionOfAnything);

export function definitionOfAnything({ group, version, kind, plural, ...rest }: CustomKind): CustomResourceDefinition {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
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
