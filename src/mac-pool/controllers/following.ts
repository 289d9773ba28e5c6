import type { KubeObject } from "../../kube/client/resource.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Caches } from "../cluster/caches.ts";

/** How the leader's controllers follow the caches. */

/** Works, once the caches are filled, until the signal aborts; then takes off the handlers that brought the news. */
export async function whileFollowing(
  caches: Caches,
  signal: AbortSignal,
  stops: readonly (() => void)[],
  work: () => Promise<unknown>,
): Promise<void> {
  try {
    await caches.whenSynced(signal);
    await work();
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}

/** Resolves when the signal has aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Calls `changed` for each object that comes or goes; for one that changes, as it was and as it is. */
export function onEach<T extends KubeObject>(informer: Informer<T>, changed: (object: T) => void): () => void {
  return informer.on({
    add: changed,
    update: (object, old) => {
      changed(old);
      changed(object);
    },
    delete: changed,
  });
}

/**
 * Calls `changed` for each namespace whose objects may be managed from now on, or not be any more. It does not before the
 * caches are filled: every object is new then.
 */
export function onManagementChange(caches: Caches, changed: (inside: (object: KubeObject) => boolean) => void) {
  const notify = ({ metadata: { name } }: KubeObject): void => {
    if (caches.hasSynced) changed(({ metadata }) => metadata.namespace === name);
  };
  const labels = ({ metadata }: KubeObject): string => JSON.stringify(metadata.labels);
  return caches.namespaces.on({
    add: notify,
    update: (namespace, old) => {
      if (labels(namespace) !== labels(old)) notify(namespace);
    },
  });
}
