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

const RBAC_GROUP = "rbac.authorization.k8s.io";
const RBAC = `${RBAC_GROUP}/v1`;

/** ServiceAccount, and roles with bindings where there are rules. */
export function identityObjects({ serviceAccount, namespace, labels, cluster, namespaced }: Identity): KubeObject[] {
  const labelled = labels === undefined ? {} : { labels };
  const to = { name: serviceAccount, namespace };
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: serviceAccount, ...labelled, namespace } },
    ...(cluster === undefined
      ? []
      : grant({ name: cluster.role, ...labelled, binding: cluster.binding, rules: cluster.rules, to })),
    ...(namespaced === undefined ? [] : grant({ name: serviceAccount, ...labelled, namespace, rules: namespaced, to })),
  ];
}

export interface Granted {
  /** Of the role. */
  readonly name: string;
  /** Name of the binding, where it is not that of the role. */
  readonly binding?: string;
  /** Undefined: in the whole cluster. */
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules: readonly (Rule | PathRule)[];
  readonly to: { readonly name: string; readonly namespace: string };
}

/** A role, and its binding to an account. */
export function grant({ binding, rules, to, ...metadata }: Granted): KubeObject[] {
  const kind = metadata.namespace === undefined ? "ClusterRole" : "Role";
  const bindingMetadata = { ...metadata, name: binding ?? metadata.name };
  const roleRef = { apiGroup: RBAC_GROUP, kind, name: metadata.name };
  const subjects = [{ kind: "ServiceAccount", ...to }];
  return [
    { apiVersion: RBAC, kind, metadata, rules },
    { apiVersion: RBAC, kind: `${kind}Binding`, metadata: bindingMetadata, roleRef, subjects },
  ];
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
