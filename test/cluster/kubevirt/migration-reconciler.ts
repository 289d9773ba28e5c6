import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { LABEL_MIGRATION, launcherPod } from "./launcher-pod.ts";
import { liveLaunchers, type VirtCaches } from "./virt-caches.ts";
import {
  isFinal,
  MIGRATIONS,
  type MigrationPhase,
  type MigrationState,
  type VirtualMachineInstance,
  type VirtualMachineInstanceMigration,
} from "./virtual-machine.ts";
import { writeVmiStatus } from "./vmi-reconciler.ts";
import { activePod, isReady } from "./vmi-status.ts";

/**
 * A live migration within the cluster: a second launcher pod on another node; once it runs, the guest is handed over.
 * One migration of an instance at a time, others wait as Pending.
 */
export async function reconcileMigration(caches: VirtCaches, key: string, signal: AbortSignal): Promise<void> {
  const migration = caches.migrations.get(key);
  if (migration === undefined || isOver(migration)) return;
  const vmi = caches.vmis.get(`${migration.metadata.namespace ?? "default"}/${migration.spec?.vmiName ?? ""}`);
  if (vmi === undefined || isFinal(vmi.status?.phase)) return writePhase(caches, migration, "Failed", signal);

  const state = vmi.status?.migrationState;
  if (state === undefined || state.migrationUid !== migration.metadata.uid) {
    if (isRunning(state) || vmi.status?.phase !== "Running") return writePhase(caches, migration, "Pending", signal);
    return start(caches, migration, vmi, signal);
  }
  const pods = await liveLaunchers(caches.client, vmi, signal);
  const target = pods.find((pod) => pod.metadata.labels?.[LABEL_MIGRATION] === migration.metadata.uid);
  if (target === undefined) return createTarget(caches, migration, vmi, state, signal);
  return follow(caches, migration, vmi, state, target, signal);
}

const isRunning = (state: MigrationState | undefined): boolean =>
  state !== undefined && state.completed !== true && state.failed !== true;

const isOver = (migration: VirtualMachineInstanceMigration): boolean =>
  migration.status?.phase === "Succeeded" || migration.status?.phase === "Failed";

/** Records the migration on the instance first, so that a lost pod or a second migration is judged by it. */
async function start(
  caches: VirtCaches,
  migration: VirtualMachineInstanceMigration,
  vmi: VirtualMachineInstance,
  signal: AbortSignal,
): Promise<void> {
  const source = activePod(vmi, await liveLaunchers(caches.client, vmi, signal));
  if (source === undefined) return writePhase(caches, migration, "Failed", signal);
  const migrationState = {
    migrationUid: migration.metadata.uid ?? "",
    sourceNode: source.spec?.nodeName ?? "",
    sourcePod: source.metadata.name ?? "",
  };
  await writeVmiStatus(caches, vmi, { ...vmi.status, migrationState }, signal);
}

async function createTarget(
  caches: VirtCaches,
  migration: VirtualMachineInstanceMigration,
  vmi: VirtualMachineInstance,
  state: MigrationState,
  signal: AbortSignal,
): Promise<void> {
  const { name = "", uid = "" } = migration.metadata;
  const pod = launcherPod(vmi, { migrationName: name, migrationUid: uid, sourceNode: state.sourceNode });
  await caches.client.create(RESOURCES.pods, pod, { signal });
  await writePhase(caches, migration, "Scheduling", signal);
}

async function follow(
  caches: VirtCaches,
  migration: VirtualMachineInstanceMigration,
  vmi: VirtualMachineInstance,
  state: MigrationState,
  target: Pod,
  signal: AbortSignal,
): Promise<void> {
  const where = { targetPod: target.metadata.name ?? "", targetNode: target.spec?.nodeName ?? "" };
  const ended = target.status?.phase === "Failed" || target.status?.phase === "Succeeded";
  if (!ended && !isReady(target)) return writePhase(caches, migration, "Scheduling", signal);
  const outcome = ended ? { failed: true } : { completed: true };
  if (isRunning(state)) {
    await writeVmiStatus(caches, vmi, { ...vmi.status, migrationState: { ...state, ...where, ...outcome } }, signal);
  }
  await writePhase(caches, migration, ended ? "Failed" : "Succeeded", signal);
}

async function writePhase(
  caches: VirtCaches,
  migration: VirtualMachineInstanceMigration,
  phase: MigrationPhase,
  signal: AbortSignal,
): Promise<void> {
  if (migration.status?.phase === phase) return;
  const { name = "", namespace = "default" } = migration.metadata;
  const body = { status: { phase } };
  await caches.client.patch(
    MIGRATIONS,
    { name, namespace },
    { type: "merge", body },
    { subresource: "status", signal },
  );
}
