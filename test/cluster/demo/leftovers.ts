import { LABEL_MANAGED_BY, MANAGED_BY } from "../../../src/api/names.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";

/** Every kind the operator applies. Kinds of requests (reviews) and of the installation (CRDs, Namespaces) are not. */
const KINDS: readonly Resource[] = [
  RESOURCES.services,
  RESOURCES.secrets,
  RESOURCES.configMaps,
  RESOURCES.serviceAccounts,
  RESOURCES.deployments,
  RESOURCES.daemonSets,
  RESOURCES.pods,
  RESOURCES.clusterRoles,
  RESOURCES.clusterRoleBindings,
  RESOURCES.roles,
  RESOURCES.roleBindings,
  RESOURCES.mutatingWebhookConfigurations,
  RESOURCES.validatingWebhookConfigurations,
  RESOURCES.validatingAdmissionPolicies,
  RESOURCES.validatingAdmissionPolicyBindings,
  RESOURCES.podDisruptionBudgets,
  RESOURCES.networkPolicies,
];

/** `Kind namespace/name` of every object that carries the operator's label, sorted. */
export async function managedObjects(client: KubeClient): Promise<string[]> {
  const labelSelector = `${LABEL_MANAGED_BY}=${MANAGED_BY}`;
  const lists = await Promise.all(
    KINDS.map(async (kind) => {
      const { items } = await client.list(kind, { labelSelector });
      return items.map(
        ({ metadata }) => `${kind.kind} ${[metadata.namespace, metadata.name].filter(Boolean).join("/")}`,
      );
    }),
  );
  return lists.flat().sort();
}
