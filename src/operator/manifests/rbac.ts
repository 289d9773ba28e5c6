/** Service accounts and what they may do. Pure. */

import { NETWORK_ADDONS_CONFIG_NAME, NETWORK_ADDONS_GROUP } from "../../api/names.ts";
import type { KubeObject } from "../../kube/client/resource.ts";

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** A right to paths that are no resources. */
export interface PathRule {
  readonly nonResourceURLs: readonly string[];
  readonly verbs: readonly string[];
}

export interface Identity {
  readonly serviceAccount: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Cluster-wide rights, with the names of role and binding. */
  readonly cluster?: {
    readonly role: string;
    readonly binding: string;
    readonly rules: readonly (Rule | PathRule)[];
  };
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
      bindingOf("ClusterRoleBinding", metadata(binding), role, subjects),
    );
  }
  if (identity.namespaced !== undefined) {
    const name = { ...metadata(serviceAccount), namespace };
    objects.push(
      { apiVersion: RBAC, kind: "Role", metadata: name, rules: identity.namespaced },
      bindingOf("RoleBinding", name, serviceAccount, subjects),
    );
  }
  return objects;
}

export interface Granted {
  readonly name: string;
  /** Undefined: in the whole cluster. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules: readonly (Rule | PathRule)[];
  /** An account that is not ours. */
  readonly to: { readonly name: string; readonly namespace: string };
}

/** A role, and a binding of the same name. */
export function grant({ rules, to, ...metadata }: Granted): KubeObject[] {
  const cluster = metadata.namespace === undefined ? "Cluster" : "";
  return [
    { apiVersion: RBAC, kind: `${cluster}Role`, metadata, rules },
    bindingOf(`${cluster}RoleBinding`, metadata, metadata.name, [{ kind: "ServiceAccount", ...to }]),
  ];
}

function bindingOf(
  kind: "RoleBinding" | "ClusterRoleBinding",
  metadata: KubeObject["metadata"],
  role: string,
  subjects: readonly object[],
): KubeObject {
  const roleKind = kind === "RoleBinding" ? "Role" : "ClusterRole";
  return { apiVersion: RBAC, kind, metadata, roleRef: { apiGroup: RBAC_GROUP, kind: roleKind, name: role }, subjects };
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

/** For a cache, which never gets a single object. */
export const FOLLOW = ["list", "watch"] as const;

/** For a process that asks who reads its metrics. */
export const ASK_WHO_MAY: readonly Rule[] = [
  rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
  rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
];

/** For a process that follows the TLS profile of the NetworkAddonsConfig. */
export const FOLLOW_CONFIG: Rule = rule(NETWORK_ADDONS_GROUP, ["networkaddonsconfigs"], FOLLOW, [
  NETWORK_ADDONS_CONFIG_NAME,
]);

/** The Lease of a leader election. An update creates it: RBAC knows the name of what is updated, not of what is created. */
export function holdLease(name: string): Rule {
  return rule("coordination.k8s.io", ["leases"], ["get", "create", "update"], [name]);
}

/** A stopping node daemon reads the NetworkAddonsConfig: was its component removed, or is this a restart? */
export const READ_CONFIG: Rule = rule(
  NETWORK_ADDONS_GROUP,
  ["networkaddonsconfigs"],
  ["get"],
  [NETWORK_ADDONS_CONFIG_NAME],
);
