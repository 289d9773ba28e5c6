/**
 * Part of linuxBridge: what a marker may write about the addresses of its node. linuxBridge and kubeMacPool both bring the
 * CRD, so that either works without the other.
 */

import { BRIDGE_MARKER, MAC_POOL_GROUP } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import { denyingPolicy } from "../manifests/admission-policy.ts";
import { NODE_NAME_CLAIM } from "../manifests/own-node-policy.ts";
import { type Rule, rule } from "../manifests/rbac.ts";

/** Server-side apply creates the object or changes it. The marker reads nothing and deletes nothing. */
export const REPORT_NODE_MACS: Rule = rule(MAC_POOL_GROUP, ["nodemacs"], ["create", "patch"]);

/**
 * RBAC cannot say "the object of its own node". A token names its node since Kubernetes 1.30; one that names none writes
 * nothing. How many addresses a report has is bounded by the CRD.
 */
export function nodeMacsPolicy(namespace: string, labels: Readonly<Record<string, string>>): KubeObject[] {
  const asBefore = (field: string): string =>
    `object.metadata.?${field}.orValue({}) == (oldObject == null ? {} : oldObject.metadata.?${field}.orValue({}))`;
  return denyingPolicy({
    name: `${BRIDGE_MARKER}-nodemacs`,
    labels,
    matches: [
      {
        apiGroups: [MAC_POOL_GROUP],
        apiVersions: ["*"],
        resources: ["nodemacs"],
        operations: ["CREATE", "UPDATE", "DELETE"],
      },
    ],
    conditions: [
      {
        name: `is-${BRIDGE_MARKER}`,
        expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${BRIDGE_MARKER}'`,
      },
    ],
    validations: [
      {
        expression:
          `request.userInfo.?extra.orValue({})[?'${NODE_NAME_CLAIM}'].orValue([]) == ` +
          "[object == null ? request.name : object.metadata.name]",
        message: `${BRIDGE_MARKER} may report the addresses of its own node only, which its token has to name`,
      },
      {
        expression:
          "object != null && object.metadata.?ownerReferences.orValue([]).size() == 1 && " +
          "object.metadata.ownerReferences.all(o, o.apiVersion == 'v1' && o.kind == 'Node' && " +
          "o.name == object.metadata.name && !o.?controller.orValue(false) && !o.?blockOwnerDeletion.orValue(false))",
        message: `A report of ${BRIDGE_MARKER} has one owner, the node: it goes with the node`,
      },
      {
        expression:
          "object != null && object.metadata.?finalizers.orValue([]).size() == 0 && " +
          `${asBefore("labels")} && ${asBefore("annotations")}`,
        message: `${BRIDGE_MARKER} may write addresses and bridges only: no finalizers, labels or annotations`,
      },
    ],
  });
}
