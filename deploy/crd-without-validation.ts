/**
 * The CRD of the NetworkAddonsConfig for clients that expect a wrong spec to be taken, and the condition Degraded to say what
 * is wrong with it, as with Cluster Network Addons Operator. Types and names of fields are still checked.
 */

import type { CelRule } from "../src/api/cel.ts";
import type { CustomResourceDefinition } from "../src/api/crds.ts";
import type { ObjectMeta } from "../src/api/object-meta.ts";
import type { StructuralSchema } from "../src/api/structural-schema.ts";
import type { KubeObject } from "../src/kube/client/resource.ts";

const RULES = [
  "x-kubernetes-validations",
  "enum",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "maxProperties",
];

/** `labels`: those of the release, which `kubectl apply --server-side` would take away. */
export function crdWithoutValidation(definition: CustomResourceDefinition, labels: ObjectMeta["labels"]): KubeObject {
  const versions = definition.spec.versions.map((version) => {
    const { properties = {}, ...root } = version.schema.openAPIV3Schema;
    const { spec = {} } = properties;
    const rules = root["x-kubernetes-validations"] as readonly CelRule[];
    return {
      ...version,
      schema: {
        openAPIV3Schema: {
          ...root,
          "x-kubernetes-validations": rules.filter(({ fieldPath }) => fieldPath === ".metadata.name"),
          properties: { ...properties, spec: relaxed(spec) },
        },
      },
    };
  });
  const metadata = { ...definition.metadata, labels };
  return { ...definition, metadata, spec: { ...definition.spec, versions } };
}

function relaxed(schema: StructuralSchema): StructuralSchema {
  const { properties, items, additionalProperties, ...rest } = schema;
  const kept = Object.fromEntries(Object.entries(rest).filter(([key]) => !RULES.includes(key)));
  return {
    ...kept,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, relaxed(field)])),
        }),
    ...(items === undefined ? {} : { items: relaxed(items) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: relaxed(additionalProperties) }),
  };
}
