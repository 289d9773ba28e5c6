/**
 * Others write extended resources into a node's capacity; a kubelet makes them allocatable, which is what the scheduler
 * looks at. A real one does so with its next status report, here it happens at once.
 */
import type { Node } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Controller } from "../../../src/kube/controller/controller.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";

export async function mirrorExtendedResources(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const informer = new Informer({ client, resource: RESOURCES.nodes, fieldSelector: `metadata.name=${name}` });
  const controller = new Controller({
    name: "extended-resources",
    reconcile: async (key, { signal }) => {
      const changes = allocatableChanges(informer.get(key)?.status ?? {});
      if (Object.keys(changes).length === 0) return;
      const body = { status: { allocatable: changes } };
      await client.patch(RESOURCES.nodes, { name }, { type: "merge", body }, { subresource: "status", signal });
    },
  });
  controller.watch(informer);
  informer.start(signal);
  await controller.run(signal);
}

/** A merge patch of allocatable: quantities that differ, null for what is no longer in capacity. */
export function allocatableChanges(status: NonNullable<Node["status"]>): Record<string, string | null> {
  const { capacity = {}, allocatable = {} } = status;
  const names = new Set([...Object.keys(capacity), ...Object.keys(allocatable)]);
  const changed = [...names].filter((name) => name.includes("/") && capacity[name] !== allocatable[name]);
  return Object.fromEntries(changed.map((name) => [name, capacity[name] ?? null]));
}
