/** The fence round the rights of a daemon that publishes resources of its node. Pure. */

import type { KubeObject } from "../../kube/client/resource.ts";
import { denyingPolicy } from "./admission-policy.ts";

export interface MarkerAccount {
  /** Name of the service account, and of the policy. */
  readonly account: string;
  readonly namespace: string;
  /** Of the resources that it publishes. */
  readonly resourcePrefix: string;
  readonly labels: Readonly<Record<string, string>>;
}

const NODE_NAME_CLAIM = "authentication.kubernetes.io/node-name";

/**
 * RBAC cannot say "its own node", so the stolen token of a marker could rewrite every node. A pod's token names its node
 * (Kubernetes 1.30 and later). For a token without that claim the policy guards only the keys.
 */
export function ownNodePolicy({ account, namespace, resourcePrefix, labels }: MarkerAccount): KubeObject[] {
  const ours = (key: string): string => `${key}.startsWith('${resourcePrefix}')`;
  const kept = (from: string, to: string): string =>
    `${from}.?status.?capacity.orValue({}).all(k, ${ours("k")} || ` +
    `(k in ${to}.?status.?capacity.orValue({}) && ${to}.status.capacity[k] == ${from}.status.capacity[k]))`;
  const same = (path: string, empty: string): string =>
    `object.?${path}.orValue(${empty}) == oldObject.?${path}.orValue(${empty})`;
  return denyingPolicy({
    name: account,
    labels,
    matches: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["nodes/status"], operations: ["UPDATE"] }],
    conditions: [
      {
        name: `is-${account}`,
        expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${account}'`,
      },
    ],
    validations: [
      {
        expression:
          `!has(request.userInfo.extra) || !('${NODE_NAME_CLAIM}' in request.userInfo.extra) || ` +
          `request.userInfo.extra['${NODE_NAME_CLAIM}'] == [object.metadata.name]`,
        message: `${account} may change the status of its own node only`,
      },
      {
        expression: `${kept("object", "oldObject")} && ${kept("oldObject", "object")}`,
        message: `${account} may change resources of ${resourcePrefix} only`,
      },
      {
        expression: [
          same("status.?conditions", "[]"),
          same("status.?addresses", "[]"),
          same("metadata.?labels", "{}"),
          same("metadata.?annotations", "{}"),
        ].join(" && "),
        message: `${account} may not change conditions, addresses, labels and annotations of nodes`,
      },
    ],
  });
}
