import { RECEIVER_ANNOTATION, writesForVm } from "./instance.ts";
import { launcherPod } from "./launcher-pod.ts";
import { writesForMigration } from "./migration.ts";
import type { Launcher, Migration, VirtualMachine, VirtualMachineInstance } from "./virtual-machine.ts";
import { VMI_FINALIZER } from "./virtual-machine.ts";
import { activePod, vmiStatus, writesForVmiStatus } from "./vmi-status.ts";
import { deletion, finalizer, type Write } from "./write.ts";

/** All that there is of one machine: a VM, its instance of the same name, that one's launchers and migrations. */
export interface Machine {
  readonly vm: VirtualMachine | undefined;
  readonly vmi: VirtualMachineInstance | undefined;
  readonly launchers: readonly Launcher[];
  readonly migrations: readonly Migration[];
}

/**
 * What virt-controller does about a machine as it is now: writes that are made in their order, after which the machine is
 * read again. None: there is nothing to do until something changes. Pure; the simulation of the MAC pool uses its parts.
 */
export function nextWrites({ vm, vmi, launchers, migrations }: Machine): Write[] {
  const ofVm = vm === undefined ? [] : writesForVm(vm, vmi);
  if (ofVm.length > 0) return ofVm;
  const ofVmi = vmi === undefined ? [] : writesForVmi(vmi, launchers);
  if (ofVmi.length > 0) return ofVmi;
  for (const migration of migrations) {
    const writes = writesForMigration(migration, vmi, launchers);
    if (writes.length > 0) return writes;
  }
  return [];
}

/** Makes the instance's launcher pod, reports what became of it, and takes the pods down with the instance. */
function writesForVmi(vmi: VirtualMachineInstance, pods: readonly Launcher[]): Write[] {
  if (vmi.metadata.deletionTimestamp !== undefined) {
    return pods.length > 0 ? pods.flatMap(deletion) : finalizer(vmi, VMI_FINALIZER, false);
  }
  const unprotected = finalizer(vmi, VMI_FINALIZER, true);
  if (unprotected.length > 0) return unprotected;
  if (vmi.metadata.annotations?.[RECEIVER_ANNOTATION] === "true") {
    return writesForVmiStatus(vmi, { ...vmi.status, phase: "WaitingForSync" });
  }
  const active = activePod(vmi, pods);
  const mayStart = vmi.status?.phase === undefined || vmi.status.phase === "Pending";
  return [
    ...(active === undefined && mayStart ? [{ verb: "create" as const, object: launcherPod(vmi) }] : []),
    ...leftBehind(vmi, pods).flatMap(deletion),
    ...writesForVmiStatus(vmi, vmiStatus(vmi, active, pods)),
  ];
}

/**
 * After a migration one side is over: the source when it succeeded, the target when it failed. KubeVirt's launcher
 * ends by itself and its pod stays as Succeeded; here it is deleted, the guest being a process that knows nothing.
 */
function leftBehind({ status }: VirtualMachineInstance, pods: readonly Launcher[]): Launcher[] {
  const migration = status?.migrationState;
  if (migration?.completed !== true && migration?.failed !== true) return [];
  const over = migration.completed === true ? migration.sourcePod : migration.targetPod;
  return pods.filter((pod) => pod.metadata.name === over);
}
