import type { KubeClient } from "../../src/kube/client/client.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";

/** Rights of a process on a real API server, as a test gives them to a user of the process's name. */

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

const GROUP = "rbac.authorization.k8s.io";
const KEEP = ["get", "list", "watch", "patch"];

/** What keeping certificates takes inside the namespace: these Secrets by name, without create. Immutable ones are deleted. */
export const secretRules = (...names: readonly string[]): Rule[] => [
  { apiGroups: [""], resources: ["secrets"], resourceNames: names, verbs: [...KEEP, "delete"] },
];

/** What it takes in the whole cluster: the webhook configuration by name. */
export const hookRules = (name: string): Rule[] => [
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["mutatingwebhookconfigurations"],
    resourceNames: [name],
    verbs: KEEP,
  },
];

export async function grantInNamespace(
  admin: KubeClient,
  namespace: string,
  user: string,
  rules: readonly Rule[],
): Promise<void> {
  const metadata = { namespace, name: user };
  await admin.create(RESOURCES.roles, { metadata, rules } as never);
  await admin.create(RESOURCES.roleBindings, {
    metadata,
    roleRef: { apiGroup: GROUP, kind: "Role", name: user },
    subjects: [{ apiGroup: GROUP, kind: "User", name: user }],
  });
}

export async function grantInCluster(admin: KubeClient, user: string, rules: readonly Rule[]): Promise<void> {
  await admin.create(RESOURCES.clusterRoles, { metadata: { name: user }, rules } as never);
  await admin.create(RESOURCES.clusterRoleBindings, {
    metadata: { name: user },
    roleRef: { apiGroup: GROUP, kind: "ClusterRole", name: user },
    subjects: [{ apiGroup: GROUP, kind: "User", name: user }],
  });
}

/** A Secret for a certificate as the operator makes it: empty. */
export async function createTlsSecret(admin: KubeClient, namespace: string, name: string): Promise<void> {
  await admin.create(RESOURCES.secrets, {
    metadata: { namespace, name },
    type: "kubernetes.io/tls",
    data: { "tls.crt": "", "tls.key": "" },
  });
}
