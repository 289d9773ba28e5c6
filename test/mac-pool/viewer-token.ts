import { RESOURCES } from "../../src/kube/client/resource.ts";
import { account, bindClusterRole } from "../support/rights.ts";
import { issueToken } from "./account.ts";
import type { PoolFixture } from "./pool-fixture.ts";

const ROLE = "kubemacpool-view";

/** Token of a new account with the viewer's role: in the cluster, in a namespace, or nowhere. */
export async function viewerToken(
  fixture: PoolFixture,
  name: string,
  where: "cluster" | "nowhere" | { namespace: string },
) {
  const ref = { name, namespace: "default" };
  await fixture.admin.create(RESOURCES.serviceAccounts, { metadata: ref });
  const namespace = typeof where === "string" ? undefined : where.namespace;
  if (where !== "nowhere") await bindClusterRole(fixture.admin, ROLE, account(name), { namespace });
  return issueToken(fixture.admin, ref);
}
