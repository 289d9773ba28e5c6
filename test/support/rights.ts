/**
 * Rights on a real API server, as an administrator gives them: `bindClusterRole(admin, "kubemacpool-view", account("reader"))`
 * for a role that is there, `grantRules(admin, user("somebody"), rules)` for one of its own. A namespace limits either to it.
 */
import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export type Subject = ReturnType<typeof user | typeof group | typeof account>;

const GROUP = "rbac.authorization.k8s.io";

export const user = (name: string) => ({ apiGroup: GROUP, kind: "User", name }) as const;
export const group = (name: string) => ({ apiGroup: GROUP, kind: "Group", name }) as const;
export const account = (name: string, namespace = "default") => ({ kind: "ServiceAccount", name, namespace }) as const;

export interface Where {
  /** The whole cluster without it. */
  readonly namespace?: string | undefined;
  /** Of the binding, and of a role of its own: that of the first subject unless given. */
  readonly name?: string;
}

export async function bindClusterRole(
  admin: KubeClient,
  role: string,
  subjects: Subject | readonly Subject[],
  where: Where = {},
): Promise<void> {
  await bind(admin, { kind: "ClusterRole", name: role }, subjects, where);
}

export async function grantRules(
  admin: KubeClient,
  subjects: Subject | readonly Subject[],
  rules: readonly Rule[],
  where: Where = {},
): Promise<void> {
  const metadata = metadataOf(subjects, where);
  const isLimited = where.namespace !== undefined;
  await admin.create((isLimited ? RESOURCES.roles : RESOURCES.clusterRoles) as never, { metadata, rules } as never);
  await bind(admin, { kind: isLimited ? "Role" : "ClusterRole", name: metadata.name }, subjects, where);
}

async function bind(
  admin: KubeClient,
  role: { readonly kind: string; readonly name: string },
  subjects: Subject | readonly Subject[],
  where: Where,
): Promise<void> {
  const resource = where.namespace === undefined ? RESOURCES.clusterRoleBindings : RESOURCES.roleBindings;
  const roleRef = { apiGroup: GROUP, ...role };
  await admin.create(resource, { metadata: metadataOf(subjects, where), roleRef, subjects: [subjects].flat() });
}

function metadataOf(subjects: Subject | readonly Subject[], { namespace, name }: Where) {
  const given = name ?? [subjects].flat()[0]?.name ?? "";
  return namespace === undefined ? { name: given } : { name: given, namespace };
}
