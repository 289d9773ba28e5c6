/** Service accounts and what they may do. Pure. */

import { NETWORK_ADDONS_CONFIG_NAME, NETWORK_ADDONS_GROUP } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export interface Identity {
  readonly serviceAccount: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Cluster-wide rights, with the names of role and binding. */
  readonly cluster?: { readonly role: string; readonly binding: string; readonly rules: readonly Rule[] };
  /** Rights in the own namespace. Role and binding have the account's name. */
  readonly namespaced?: readonly Rule[];
}

const RBAC = "rbac.authorization.k8s.io/v1";
const RBAC_GROUP = "rbac.authorization.k8s.io";

/** ServiceAccount, and roles with bindings where there are rules. */
export function identityObjects(identity: Identity): KubeObject[] {
  const { serviceAccount, namespace, labels } = identity;
  const metadata = (name: string) => ({ name, ...(labels === undefined ? {} : { labels }) });
  const subjects = [{ kind: "ServiceAccount", name: serviceAccount, namespace }];
  const objects: KubeObject[] = [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...metadata(serviceAccount), namespace } },
  ];
  if (identity.cluster !== undefined) {
    const { role, binding, rules } = identity.cluster;
    objects.push(
      { apiVersion: RBAC, kind: "ClusterRole", metadata: metadata(role), rules },
      {
        apiVersion: RBAC,
        kind: "ClusterRoleBinding",
        metadata: metadata(binding),
        roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role },
        subjects,
      },
    );
  }
  if (identity.namespaced !== undefined) {
    const name = { ...metadata(serviceAccount), namespace };
    objects.push(
      { apiVersion: RBAC, kind: "Role", metadata: name, rules: identity.namespaced },
      {
        apiVersion: RBAC,
        kind: "RoleBinding",
        metadata: name,
        roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: serviceAccount },
        subjects,
      },
    );
  }
  return objects;
}

export function rule(
  apiGroup: string,
  resources: readonly string[],
  verbs: readonly string[],
  resourceNames?: readonly string[],
): Rule {
  return { apiGroups: [apiGroup], resources, ...(resourceNames === undefined ? {} : { resourceNames }), verbs };
}

export const READ = ["get", "list", "watch"] as const;

/** A stopping node daemon reads the NetworkAddonsConfig: was its component removed, or is this a restart? */
export const READ_CONFIG: Rule = rule(
  NETWORK_ADDONS_GROUP,
  ["networkaddonsconfigs"],
  ["get"],
  [NETWORK_ADDONS_CONFIG_NAME],
);
