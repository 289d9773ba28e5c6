/** The admission guard of the rights of a daemon that publishes resources of its node. Pure. */

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

export const NODE_NAME_CLAIM = "authentication.kubernetes.io/node-name";
/** The API server writes these with every patch. */
const KEPT_BY_THE_SERVER = ["managedFields", "resourceVersion"];
/** CEL: where kubelet has set no allocatable yet, the API server fills it in from capacity with every write. */
const ALLOCATABLE_FILLED_IN =
  "!dyn(oldObject).?status.?allocatable.hasValue() && " +
  "dyn(object).?status.?allocatable.orValue({}) == dyn(object).?status.?capacity.orValue({})";

/**
 * RBAC can say neither "its own node" nor "these fields", so the stolen token of a marker could rewrite every node. A pod's
 * token names its node (Kubernetes 1.30 and later). Fields are compared whole, so that one which Kubernetes adds later is
 * fenced too.
 */
export function ownNodePolicy({ account, namespace, resourcePrefix, labels }: MarkerAccount): KubeObject[] {
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
          `has(request.userInfo.extra) && '${NODE_NAME_CLAIM}' in request.userInfo.extra && ` +
          `request.userInfo.extra['${NODE_NAME_CLAIM}'] == [object.metadata.name]`,
        message: `${account} may change the status of its own node only, with a token that names the node`,
      },
      {
        expression: same("dyn(object).?status.?capacity", "dyn(oldObject).?status.?capacity", {
          except: `k.startsWith('${resourcePrefix}')`,
        }),
        message: `${account} may change resources of ${resourcePrefix} only`,
      },
      {
        expression: [
          same("dyn(object).?status", "dyn(oldObject).?status", {
            except: `k == 'capacity' || (k == 'allocatable' && ${ALLOCATABLE_FILLED_IN})`,
          }),
          same("optional.of(dyn(object.metadata))", "optional.of(dyn(oldObject.metadata))", {
            except: `k in ${JSON.stringify(KEPT_BY_THE_SERVER)}`,
          }),
        ].join(" && "),
        message: `${account} may change capacity only: no metadata and no other field of a node's status`,
      },
    ],
  });
}

/** CEL: two optional maps have the same entries, except for those whose key `k` meets a condition. */
function same(one: string, other: string, { except }: { readonly except: string }): string {
  const within = (from: string, to: string): string =>
    `${from}.orValue({}).all(k, ${except} || ` +
    `(k in ${to}.orValue({}) && ${to}.orValue({})[k] == ${from}.orValue({})[k]))`;
  return `${within(one, other)} && ${within(other, one)}`;
}
