import { ApiException, type KubeConfig, type KubernetesObject, KubernetesObjectApi } from "@kubernetes/client-node";

const RBAC = "rbac.authorization.k8s.io";
const NAMESPACE = "kubevirt";
const CONTROLLER = "kubevirt-controller";

const EVERYTHING = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
const SUBRESOURCES = ["virtualmachines/*", "virtualmachineinstances/*"];

/** Who may do what with VMs, as KubeVirt's operator installs it. */
const OBJECTS: readonly (KubernetesObject & Record<string, unknown>)[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: CONTROLLER, namespace: NAMESPACE } },
  clusterRole(CONTROLLER, [{ apiGroups: ["kubevirt.io"], resources: ["*"], verbs: ["*"] }]),
  {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: CONTROLLER },
    roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: CONTROLLER },
    subjects: [{ kind: "ServiceAccount", name: CONTROLLER, namespace: NAMESPACE }],
  },
  ...(["admin", "edit"] as const).map((role) => ofUsers(role, EVERYTHING, ["get", "update"])),
  ofUsers("view", ["get", "list", "watch"], ["get"]),
];

/** Part of the role of that name which every cluster has. */
function ofUsers(role: "admin" | "edit" | "view", verbs: readonly string[], ofSubresources: readonly string[]) {
  const rules = [
    { apiGroups: ["kubevirt.io"], resources: ["virtualmachines", "virtualmachineinstances"], verbs },
    { apiGroups: ["subresources.kubevirt.io"], resources: SUBRESOURCES, verbs: ofSubresources },
  ];
  return clusterRole(`kubevirt.io:${role}`, rules, { [`${RBAC}/aggregate-to-${role}`]: "true" });
}

function clusterRole(name: string, rules: readonly object[], labels: Readonly<Record<string, string>> = {}) {
  return { apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata: { name, labels }, rules };
}

/** What is there already is left as it is. */
export async function createAccess(config: KubeConfig): Promise<void> {
  const api = KubernetesObjectApi.makeApiClient(config);
  for (const object of OBJECTS) {
    await api.create(object).catch((error: unknown) => {
      if (!(error instanceof ApiException && error.code === 409)) throw error;
    });
  }
}
