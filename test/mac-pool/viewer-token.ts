import { RESOURCES } from "../../src/kube/client/resource.ts";
import { issueToken } from "./account.ts";
import type { PoolBed } from "./pool-bed.ts";

const ROLE = "kubemacpool-view";

/** Token of a new account with the viewer's role: in the cluster, in a namespace, or nowhere. */
export async function viewerToken(bed: PoolBed, name: string, where: "cluster" | "nowhere" | { namespace: string }) {
  const account = { name, namespace: "default" };
  await bed.admin.create(RESOURCES.serviceAccounts, { metadata: account });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: ROLE };
  const subjects = [{ kind: "ServiceAccount", ...account }];
  if (where === "cluster") {
    await bed.admin.create(RESOURCES.clusterRoleBindings, { metadata: { name }, roleRef, subjects });
  } else if (where !== "nowhere") {
    await bed.admin.create(RESOURCES.roleBindings, { metadata: { name, ...where }, roleRef, subjects });
  }
  return issueToken(bed.admin, account);
}
