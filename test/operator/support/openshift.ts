/** What marks OpenShift for this product, as real kinds of a real API server: any content is taken, as far as nothing is missing. */

import { OPENSHIFT_NETWORKS, SECURITY_CONTEXT_CONSTRAINTS } from "../../../src/api/kinds.ts";
import { definitionOfAnything } from "./definition-of-anything.ts";

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

export const CONSTRAINTS_CRD = definitionOfAnything(SECURITY_CONTEXT_CONSTRAINTS, REQUIRED);
export const NETWORKS_CRD = definitionOfAnything(OPENSHIFT_NETWORKS, ["spec"]);
