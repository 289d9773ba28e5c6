import { BRIDGE_MARKER } from "../../../src/api/names.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { type InstalledOperator, NAMESPACE } from "./installed-operator.ts";

const MARKER = { name: BRIDGE_MARKER, namespace: NAMESPACE };

/** Makes the operator look again, and waits until it has. */
export async function wake(cluster: InstalledOperator): Promise<void> {
  const before = cluster.client.reads;
  const label = { metadata: { labels: { woken: String(before) } } };
  await cluster.admin.patch(RESOURCES.daemonSets, MARKER, { type: "merge", body: label });
  // Two reads a reconcile: the record of what was applied, and the inventory.
  await cluster.until(async () => cluster.client.reads >= before + 2);
}

/** What the operator writes when it looks again and nothing has to change. */
export async function idleWrites(cluster: InstalledOperator): Promise<readonly string[]> {
  await wake(cluster);
  await wake(cluster);
  cluster.client.writes.length = 0;
  await wake(cluster);
  await wake(cluster);
  return cluster.client.writes;
}
