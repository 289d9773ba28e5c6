/**
 * Refuses a removal in the wrong order. While a NetworkAddonsConfig exists, the namespace and the CRDs cannot be deleted:
 * without them the operator could not remove its components from the nodes and the API server, and webhooks would be left
 * without a server. The guard is in no package, so that no command that deletes one takes it along: it goes with the
 * NetworkAddonsConfig.
 */

import { CRDS } from "../../../api/crds.ts";
import { apiVersionOf, NETWORK_ADDONS_CONFIGS } from "../../../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../../../api/names.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import { constraints } from "../../manifests/admission-policy.ts";
import type { Component } from "../component.ts";

const NAME = "cluster-network-addons-removal";
/** Whoever is about to remove everything creates a ConfigMap of this name first. A refusal then leaves everything in place. */
export const REMOVAL_CHECK = NAME;

const ADMISSION = "admissionregistration.k8s.io/v1";
const REFUSAL =
  `A NetworkAddonsConfig exists. Delete it first (kubectl delete networkaddonsconfig ${NETWORK_ADDONS_CONFIG_NAME}): ` +
  "the operator then removes its components. If the operator is gone, install it again before. " +
  "Repeat this removal when there is no NetworkAddonsConfig any more";

export const removalGuard: Component = {
  name: "removalGuard",
  standing: true,
  render: ({ settings }) => guardOf([...new Set([settings.operatorNamespace, settings.operandNamespace])]),
};

function guardOf(namespaces: readonly string[]): KubeObject[] {
  const metadata = { name: NAME };
  const rule = (
    apiGroup: string,
    resource: string,
    resourceNames: readonly string[],
    operation: "CREATE" | "DELETE",
  ) => ({
    apiGroups: [apiGroup],
    apiVersions: ["v1"],
    resources: [resource],
    resourceNames,
    operations: [operation],
  });
  const definitions = CRDS.map((definition) => definition.metadata.name);
  return [
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        // Without the CRD of the NetworkAddonsConfig there is nothing to guard.
        failurePolicy: "Ignore",
        paramKind: { apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS), kind: NETWORK_ADDONS_CONFIGS.kind },
        matchConstraints: constraints([
          rule("apiextensions.k8s.io", "customresourcedefinitions", definitions, "DELETE"),
          rule("", "namespaces", namespaces, "DELETE"),
          rule("", "configmaps", [REMOVAL_CHECK], "CREATE"),
        ]),
        validations: [{ expression: "false", message: REFUSAL, reason: "Forbidden" }],
      },
    },
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: {
        policyName: NAME,
        paramRef: { name: NETWORK_ADDONS_CONFIG_NAME, parameterNotFoundAction: "Allow" },
        validationActions: ["Deny"],
      },
    },
  ];
}
