/**
 * Device plugins and bridge-marker write extended resources into a node's capacity. Kubelet copies them to allocatable,
 * which the scheduler reads. A real kubelet does so with its next status report, this one at once.
 */
import { Registry } from "prom-client";
import type { Node } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { Controller } from "../../../src/kube/informer/controller.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";

export async function mirrorExtendedResources(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const metrics = new Registry();
  const fieldSelector = `metadata.name=${name}`;
  const informer = new Informer({ client, resource: RESOURCES.nodes, fieldSelector, metrics });
  const controller = new Controller({
    name: "extended-resources",
    metrics,
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
