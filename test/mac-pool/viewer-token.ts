import { RESOURCES } from "../../src/kube/client/resource.ts";
import { account, bindClusterRole } from "../support/rights.ts";
import { issueToken } from "./account.ts";
import type { PoolBed } from "./pool-bed.ts";

const ROLE = "kubemacpool-view";

/** Token of a new account with the viewer's role: in the cluster, in a namespace, or nowhere. */
export async function viewerToken(bed: PoolBed, name: string, where: "cluster" | "nowhere" | { namespace: string }) {
  const ref = { name, namespace: "default" };
  await bed.admin.create(RESOURCES.serviceAccounts, { metadata: ref });
  const namespace = typeof where === "string" ? undefined : where.namespace;
  if (where !== "nowhere") await bindClusterRole(bed.admin, ROLE, account(name), { namespace });
  return issueToken(bed.admin, ref);
}
