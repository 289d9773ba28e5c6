import type { KubeObject } from "../../kube/client/resource.ts";
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
