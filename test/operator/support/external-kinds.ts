/**
 * Kinds of other products that this one uses or knows their platform by, as real kinds of a real API server: create the CRDs,
 * and any content is taken, as far as no required field is missing. Nobody acts on such objects.
 */

import {
  type CustomKind,
  OPENSHIFT_NETWORKS,
  PROMETHEUS_RULES,
  SECURITY_CONTEXT_CONSTRAINTS,
  SERVICE_MONITORS,
} from "../../../src/api/kinds.ts";
import type { CustomResourceDefinition } from "../../../src/kube/client/built-in-kinds.ts";
import { CERT_MANAGER_GROUP } from "../../../src/operator/apply/applied-kinds.ts";

/** `required`: fields without which an object is refused. */
function definitionOf(
  { group, version, kind, plural, namespaced }: CustomKind,
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
      scope: namespaced ? "Namespaced" : "Cluster",
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}

const ofCertManager = { group: CERT_MANAGER_GROUP, version: "v1", namespaced: true };

export const CERT_MANAGER_CRDS = [
  definitionOf({ ...ofCertManager, kind: "Issuer", plural: "issuers" }),
  definitionOf({ ...ofCertManager, kind: "Certificate", plural: "certificates" }),
];

export const PROMETHEUS_OPERATOR_CRDS = [SERVICE_MONITORS, PROMETHEUS_RULES].map((kind) => definitionOf(kind));

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

/** The two kinds that mark OpenShift. */
export const CONSTRAINTS_CRD = definitionOf(SECURITY_CONTEXT_CONSTRAINTS, REQUIRED);
export const NETWORKS_CRD = definitionOf(OPENSHIFT_NETWORKS, ["spec"]);
