import { isDeepStrictEqual } from "node:util";
import { createOnce, deleteOnce, type VirtCaches, writeFinalizer } from "./virt-caches.ts";
import {
  isFinal,
  type RunStrategy,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
  type VirtualMachine,
  type VirtualMachineInstance,
  VM_FINALIZER,
  VMI_FINALIZER,
} from "./virtual-machine.ts";

/** Set on the VMI of a VM that waits for a migration from elsewhere: no launcher until then. */
export const RECEIVER_ANNOTATION = "kubevirt.io/create-migration-target";

/** The garbage collector's own finalizer for `kubectl delete --cascade=orphan`. */
const ORPHAN_FINALIZER = "orphan";

/** Brings the VM's instance in line with its runStrategy, and its status in line with the instance. */
export async function reconcileVm(caches: VirtCaches, key: string, signal: AbortSignal): Promise<void> {
  const vm = caches.vms.get(key);
  if (vm === undefined) return;
  const vmi = ownedBy(vm, caches.vmis.get(key));
  if (vm.metadata.deletionTimestamp !== undefined) return finish(caches, vm, vmi, signal);
  await writeFinalizer(caches.client, VIRTUAL_MACHINES, vm, VM_FINALIZER, true, signal);

  const wanted = wantedInstance(runStrategyOf(vm), vmi);
  if (wanted === "present" && vmi === undefined) {
    await createOnce(caches.client, VIRTUAL_MACHINE_INSTANCES, instanceOf(vm), signal);
  } else if (wanted === "absent" && vmi !== undefined) {
    await deleteOnce(caches.client, VIRTUAL_MACHINE_INSTANCES, vmi, signal);
  }
  await writeStatus(caches, vm, vmi, signal);
}

async function finish(
  caches: VirtCaches,
  vm: VirtualMachine,
  vmi: VirtualMachineInstance | undefined,
  signal: AbortSignal,
): Promise<void> {
  const orphaned = vm.metadata.finalizers?.includes(ORPHAN_FINALIZER) ?? false;
  if (vmi !== undefined && !orphaned) {
    await deleteOnce(caches.client, VIRTUAL_MACHINE_INSTANCES, vmi, signal);
    return;
  }
  await writeFinalizer(caches.client, VIRTUAL_MACHINES, vm, VM_FINALIZER, false, signal);
}

function ownedBy(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): VirtualMachineInstance | undefined {
  return vmi?.metadata.ownerReferences?.some((owner) => owner.uid === vm.metadata.uid) ? vmi : undefined;
}

export function runStrategyOf(vm: VirtualMachine): RunStrategy {
  return vm.spec?.runStrategy ?? (vm.spec?.running === true ? "Always" : "Halted");
}

/** `as-is`: a Manual VM, whose instance only an explicit start or stop touches. */
export function wantedInstance(
  strategy: RunStrategy,
  vmi: VirtualMachineInstance | undefined,
): "present" | "absent" | "as-is" {
  const phase = vmi?.status?.phase;
  switch (strategy) {
    case "Halted":
      return "absent";
    case "Manual":
      return "as-is";
    case "Always":
      return isFinal(phase) ? "absent" : "present";
    case "RerunOnFailure":
      return phase === "Failed" ? "absent" : "present";
    case "Once":
    case "WaitAsReceiver":
      return "present";
  }
}

/** The instance that a VM starts: its template, under the VM's own name. */
export function instanceOf(vm: VirtualMachine): VirtualMachineInstance {
  const { name = "", namespace = "default", uid = "" } = vm.metadata;
  const template = vm.spec?.template;
  const receiver = runStrategyOf(vm) === "WaitAsReceiver" ? { [RECEIVER_ANNOTATION]: "true" } : {};
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: {
      name,
      namespace,
      labels: { ...template?.metadata?.labels },
      annotations: { ...template?.metadata?.annotations, ...receiver },
      finalizers: [VMI_FINALIZER],
      ownerReferences: [
        { apiVersion: "kubevirt.io/v1", kind: "VirtualMachine", name, uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    spec: { ...template?.spec },
  };
}

async function writeStatus(
  caches: VirtCaches,
  vm: VirtualMachine,
  vmi: VirtualMachineInstance | undefined,
  signal: AbortSignal,
): Promise<void> {
  const status = {
    ...vm.status,
    created: vmi !== undefined,
    ready: vmi?.status?.phase === "Running" && vmi.metadata.deletionTimestamp === undefined,
    printableStatus: printableStatus(vmi),
  };
  if (isDeepStrictEqual(status, vm.status)) return;
  const { name = "", namespace = "default" } = vm.metadata;
  await caches.client.patch(
    VIRTUAL_MACHINES,
    { name, namespace },
    { type: "merge", body: { status } },
    { subresource: "status", signal },
  );
}

function printableStatus(vmi: VirtualMachineInstance | undefined): string {
  if (vmi === undefined) return "Stopped";
  if (vmi.metadata.deletionTimestamp !== undefined) return "Stopping";
  switch (vmi.status?.phase) {
    case "Running":
      return migrating(vmi) ? "Migrating" : "Running";
    case "Succeeded":
    case "Failed":
      return "Stopped";
    case "WaitingForSync":
      return "WaitingForReceiver";
    default:
      return "Starting";
  }
}

function migrating(vmi: VirtualMachineInstance): boolean {
  const migration = vmi.status?.migrationState;
  return migration !== undefined && migration.completed !== true && migration.failed !== true;
}
