import { LABEL_MIGRATION, launcherPod } from "./launcher-pod.ts";
import {
  isFinal,
  isMigrating,
  type Launcher,
  type Migration,
  type MigrationPhase,
  type MigrationState,
  type VirtualMachineInstance,
} from "./virtual-machine.ts";
import { activePod, isReady, writesForVmiStatus } from "./vmi-status.ts";
import type { Write } from "./write.ts";

/**
 * A live migration within the cluster: a second launcher pod on another node; once it runs, the guest is handed over.
 * An instance has one migration at a time, others wait as Pending. Pure.
 */
export function writesForMigration(
  migration: Migration,
  vmi: VirtualMachineInstance | undefined,
  pods: readonly Launcher[],
): Write[] {
  if (migration.status?.phase === "Succeeded" || migration.status?.phase === "Failed") return [];
  if (vmi === undefined || isFinal(vmi.status?.phase)) return inPhase(migration, "Failed");
  const state = vmi.status?.migrationState;
  if (state === undefined || state.migrationUid !== migration.metadata.uid) {
    const mayStart = !isMigrating(state) && vmi.status?.phase === "Running";
    return mayStart ? start(migration, vmi, pods) : inPhase(migration, "Pending");
  }
  const target = pods.find((pod) => pod.metadata.labels?.[LABEL_MIGRATION] === migration.metadata.uid);
  return target === undefined ? createTarget(migration, vmi, state) : follow(migration, vmi, state, target);
}

/** Records the migration on the instance first, so that a lost pod or a second migration is judged by it. */
function start(migration: Migration, vmi: VirtualMachineInstance, pods: readonly Launcher[]): Write[] {
  const source = activePod(vmi, pods);
  if (source === undefined) return inPhase(migration, "Failed");
  const migrationState = {
    migrationUid: migration.metadata.uid ?? "",
    sourceNode: source.spec?.nodeName ?? "",
    sourcePod: source.metadata.name ?? "",
  };
  return writesForVmiStatus(vmi, { ...vmi.status, migrationState });
}

function createTarget(migration: Migration, vmi: VirtualMachineInstance, { sourceNode }: MigrationState): Write[] {
  const { name = "", uid = "" } = migration.metadata;
  const object = launcherPod(vmi, { migrationName: name, migrationUid: uid, sourceNode });
  return [{ verb: "create", object }, ...inPhase(migration, "Scheduling")];
}

function follow(migration: Migration, vmi: VirtualMachineInstance, state: MigrationState, target: Launcher): Write[] {
  const ended = target.status?.phase === "Failed" || target.status?.phase === "Succeeded";
  if (!ended && !isReady(target)) return inPhase(migration, "Scheduling");
  const migrationState = {
    ...state,
    targetPod: target.metadata.name ?? "",
    targetNode: target.spec?.nodeName ?? "",
    ...(ended ? { failed: true } : { completed: true }),
  };
  return [
    ...(isMigrating(state) ? writesForVmiStatus(vmi, { ...vmi.status, migrationState }) : []),
    ...inPhase(migration, ended ? "Failed" : "Succeeded"),
  ];
}

function inPhase(migration: Migration, phase: MigrationPhase): Write[] {
  if (migration.status?.phase === phase) return [];
  return [{ verb: "status", object: migration, status: { ...migration.status, phase } }];
}
