import { isDeepStrictEqual } from "node:util";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { launcherPod } from "./launcher-pod.ts";
import { deleteOnce, liveLaunchers, PODS_BY_VMI, type VirtCaches, writeFinalizer } from "./virt-caches.ts";
import { isFinal, VIRTUAL_MACHINE_INSTANCES, type VirtualMachineInstance, VMI_FINALIZER } from "./virtual-machine.ts";
import { RECEIVER_ANNOTATION } from "./vm-reconciler.ts";
import { activePod, type VmiStatus, vmiStatus } from "./vmi-status.ts";

/** Makes the instance's launcher pod, reports what became of it, and takes the pods down with the instance. */
export async function reconcileVmi(caches: VirtCaches, key: string, signal: AbortSignal): Promise<void> {
  const vmi = caches.vmis.get(key);
  if (vmi === undefined) return;
  if (vmi.metadata.deletionTimestamp !== undefined) return finish(caches, vmi, signal);
  await writeFinalizer(caches.client, VIRTUAL_MACHINE_INSTANCES, vmi, VMI_FINALIZER, true, signal);
  if (vmi.metadata.annotations?.[RECEIVER_ANNOTATION] === "true") {
    return writeVmiStatus(caches, vmi, { ...vmi.status, phase: "WaitingForSync" }, signal);
  }

  const cached = caches.launchers.byIndex(PODS_BY_VMI, vmi.metadata.uid ?? "");
  const missing = activePod(vmi, cached) === undefined;
  const pods = missing ? await liveLaunchers(caches.client, vmi, signal) : cached;
  const active = activePod(vmi, pods);
  if (active === undefined && mayStart(vmi)) {
    await caches.client.create(RESOURCES.pods, launcherPod(vmi), { signal });
  }
  await removeLeftBehind(caches, vmi, pods, signal);
  await writeVmiStatus(caches, vmi, vmiStatus(vmi, active, pods), signal);
}

function mayStart(vmi: VirtualMachineInstance): boolean {
  return vmi.status?.phase === undefined || vmi.status.phase === "Pending";
}

async function finish(caches: VirtCaches, vmi: VirtualMachineInstance, signal: AbortSignal): Promise<void> {
  const pods = await liveLaunchers(caches.client, vmi, signal);
  for (const pod of pods) await deleteOnce(caches.client, RESOURCES.pods, pod, signal);
  if (pods.length > 0) return;
  await writeFinalizer(caches.client, VIRTUAL_MACHINE_INSTANCES, vmi, VMI_FINALIZER, false, signal);
}

/**
 * After a migration one side is over: the source when it succeeded, the target when it failed. KubeVirt's launcher
 * ends by itself and its pod stays as Succeeded; here it is deleted, the guest being a process that knows nothing.
 */
async function removeLeftBehind(
  caches: VirtCaches,
  vmi: VirtualMachineInstance,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<void> {
  const migration = vmi.status?.migrationState;
  if (migration?.completed !== true && migration?.failed !== true) return;
  const over = migration.completed === true ? migration.sourcePod : migration.targetPod;
  for (const pod of pods) {
    if (pod.metadata.name === over) await deleteOnce(caches.client, RESOURCES.pods, pod, signal);
  }
}

/** Writes the status if it differs, on condition that nobody wrote the object since it was cached. */
export async function writeVmiStatus(
  caches: VirtCaches,
  vmi: VirtualMachineInstance,
  status: VmiStatus,
  signal: AbortSignal,
): Promise<void> {
  if (isDeepStrictEqual(status, vmi.status) || isFinal(vmi.status?.phase)) return;
  await caches.client.update(VIRTUAL_MACHINE_INSTANCES, { ...vmi, status }, { subresource: "status", signal });
}
