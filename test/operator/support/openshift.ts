/** What marks OpenShift for this product, as real kinds of a real API server: any content is taken, as far as nothing is missing. */

import { type CustomKind, OPENSHIFT_NETWORKS, SECURITY_CONTEXT_CONSTRAINTS } from "../../../src/api/kinds.ts";
import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";

/** Without these OpenShift takes no SecurityContextConstraints. */
const REQUIRED = [
  "allowHostDirVolumePlugin",
  "allowHostIPC",
  "allowHostNetwork",
  "allowHostPID",
  "allowHostPorts",
  "allowPrivilegedContainer",
  "allowedCapabilities",
  "defaultAddCapabilities",
  "priority",
  "readOnlyRootFilesystem",
  "requiredDropCapabilities",
  "volumes",
];

export const CONSTRAINTS_CRD = crd(SECURITY_CONTEXT_CONSTRAINTS, REQUIRED);
export const NETWORKS_CRD = crd(OPENSHIFT_NETWORKS, ["spec"]);

function crd({ group, version, kind, plural }: CustomKind, required: string[]): CustomResourceDefinition {
  const schema = { openAPIV3Schema: { type: "object", required, "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      scope: "Cluster",
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}
