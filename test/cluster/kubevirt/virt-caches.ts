import { isAlreadyExists, isNotFound } from "../../../src/kube/client/api-error.ts";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../../src/kube/client/resource.ts";
import type { Informer } from "../../../src/kube/informer/informer.ts";
import { LABEL_CREATED_BY } from "./launcher-pod.ts";
import type { VirtualMachine, VirtualMachineInstance, VirtualMachineInstanceMigration } from "./virtual-machine.ts";

/** What the three reconcilers share: the client, the watched objects, and the few writes they all make. */

export const PODS_BY_VMI = "vmi-uid";

export interface VirtCaches {
  readonly client: KubeClient;
  readonly vms: Informer<VirtualMachine>;
  readonly vmis: Informer<VirtualMachineInstance>;
  readonly migrations: Informer<VirtualMachineInstanceMigration>;
  readonly launchers: Informer<Pod>;
}

/**
 * The launcher pods of a VMI as the API server has them now. Their names are generated, so a decision to create one
 * on a cache that lags would make a second one.
 */
export async function liveLaunchers(
  client: KubeClient,
  vmi: VirtualMachineInstance,
  signal: AbortSignal,
): Promise<Pod[]> {
  const { items } = await client.list(RESOURCES.pods, {
    namespace: vmi.metadata.namespace ?? "default",
    labelSelector: `${LABEL_CREATED_BY}=${vmi.metadata.uid ?? ""}`,
    signal,
  });
  return items;
}

/** Creates; an object of that name that is already there is left as it is. */
export async function createOnce<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  signal: AbortSignal,
): Promise<void> {
  await client.create(resource, object, { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

/** Deletes exactly this object (by uid); one that is gone or going is fine. */
export async function deleteOnce<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", namespace = "default", uid, deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined) return;
  await client
    .delete(resource, { name, namespace }, { ...(uid === undefined ? {} : { uid }), signal })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
}

/** Adds or removes one finalizer, on condition that nobody changed the object since it was cached. */
export async function writeFinalizer<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  object: T,
  finalizer: string,
  present: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", namespace = "default", resourceVersion, finalizers = [] } = object.metadata;
  if (finalizers.includes(finalizer) === present) return;
  const next = present ? [...finalizers, finalizer] : finalizers.filter((other) => other !== finalizer);
  const body = { metadata: { resourceVersion, finalizers: next } };
  await client.patch(resource, { name, namespace }, { type: "merge", body }, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}
