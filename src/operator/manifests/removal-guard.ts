/**
 * Refuses a removal in the wrong order. While a NetworkAddonsConfig exists, the namespace and the CRDs cannot be deleted:
 * without them the operator could not remove its components from the nodes and the API server. Pure.
 */

import { CRDS } from "../../api/crds.ts";
import { apiVersionOf, NETWORK_ADDONS_CONFIGS } from "../../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME, OPERATOR_NAME } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

const NAME = "cluster-network-addons-removal";
/** Whoever is about to remove everything creates a ConfigMap of this name first. A refusal then leaves everything in place. */
export const REMOVAL_CHECK = NAME;

const ADMISSION = "admissionregistration.k8s.io/v1";
const REFUSAL =
  `A NetworkAddonsConfig exists. Delete it first (kubectl delete networkaddonsconfig ${NETWORK_ADDONS_CONFIG_NAME}): ` +
  "the operator then removes its components. Repeat this removal when it is gone";

/** The namespace is recognized by its label, because its name is the user's choice. */
export function removalGuard(labels: Readonly<Record<string, string>>): KubeObject[] {
  const metadata = { name: NAME, labels };
  return [
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        // Without the CRD there is nothing to guard, and other namespaces must not suffer from a guard that was left behind.
        failurePolicy: "Ignore",
        paramKind: { apiVersion: apiVersionOf(NETWORK_ADDONS_CONFIGS), kind: NETWORK_ADDONS_CONFIGS.kind },
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ["apiextensions.k8s.io"],
              apiVersions: ["v1"],
              resources: ["customresourcedefinitions"],
              resourceNames: CRDS.map((definition) => definition.metadata.name),
              operations: ["DELETE"],
            },
            { apiGroups: [""], apiVersions: ["v1"], resources: ["namespaces"], operations: ["DELETE"] },
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              resources: ["configmaps"],
              resourceNames: [REMOVAL_CHECK],
              operations: ["CREATE"],
            },
          ],
        },
        matchConditions: [
          {
            name: "is-ours",
            expression:
              "request.resource.resource != 'namespaces' || " +
              `oldObject.metadata.?labels[?'name'].orValue('') == '${OPERATOR_NAME}'`,
          },
        ],
        validations: [{ expression: "false", message: REFUSAL, reason: "Forbidden" }],
      },
    },
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: {
        policyName: NAME,
        paramRef: { selector: {}, parameterNotFoundAction: "Allow" },
        validationActions: ["Deny"],
      },
    },
  ];
}
