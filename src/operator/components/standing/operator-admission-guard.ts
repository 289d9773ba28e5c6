/**
 * The admission guard of rights that the operator has only to hand them on to its components, because RBAC lets nobody grant more
 * than they have. Pure.
 */

import { MAC_POOL_GROUP, OPERATOR_NAME } from "../../../api/names.ts";
import type { KubeObject } from "../../../kube/client/resource.ts";
import { denyingPolicy, type PolicyOptions } from "../../manifests/admission-policy.ts";
import type { Component } from "../component.ts";

/** Of events about objects without a namespace, as the NetworkAddonsConfig is one. */
const EVENTS_NAMESPACE = "default";

/**
 * Where no package brings it: a bundle of Operator Lifecycle Manager takes no admission policies. It keeps the operator's mistakes
 * in. Who has the operator's token could lift it first, which the guard of the other packages does not allow.
 */
export const operatorAdmissionGuard: Component = {
  name: "operatorFence",
  standing: true,
  render: () => operatorAdmissionGuardObjects({ name: `${OPERATOR_NAME}-rights`, labels: {} }),
};

export function operatorAdmissionGuardObjects({
  name,
  labels,
}: Required<Pick<PolicyOptions, "name" | "labels">>): KubeObject[] {
  const match = (apiGroup: string, resource: string, ...operations: string[]) => ({
    apiGroups: [apiGroup],
    apiVersions: ["*"],
    resources: [resource],
    operations,
  });
  return denyingPolicy({
    name,
    labels,
    matches: [
      match("", "nodes/status", "UPDATE"),
      match(MAC_POOL_GROUP, "macclaims", "CREATE", "UPDATE", "DELETE"),
      match(MAC_POOL_GROUP, "nodemacs", "CREATE", "UPDATE", "DELETE"),
      match("kubevirt.io", "virtualmachines", "UPDATE"),
      match("events.k8s.io", "events", "CREATE", "UPDATE"),
    ],
    conditions: [
      {
        name: "is-the-operator",
        // The namespace is the user's choice.
        expression: `request.userInfo.username.matches('^system:serviceaccount:[^:]+:${OPERATOR_NAME}$')`,
      },
    ],
    validations: [
      {
        expression: `request.resource.resource == 'events' && request.namespace == '${EVENTS_NAMESPACE}'`,
        message: "The operator has this right only to hand it on to its components",
      },
    ],
  });
}
