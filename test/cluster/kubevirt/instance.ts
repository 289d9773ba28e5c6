import { isDeepStrictEqual } from "node:util";
import {
  isFinal,
  isMigrating,
  type RunStrategy,
  type VirtualMachine,
  type VirtualMachineInstance,
  VM_FINALIZER,
  VMI_FINALIZER,
  type VmiSpec,
} from "./virtual-machine.ts";
import { deletion, finalizer, type Write } from "./write.ts";

/** Set on the VMI of a VM that waits for a migration from elsewhere: no launcher until then. */
export const RECEIVER_ANNOTATION = "kubevirt.io/create-migration-target";

/** The garbage collector's own finalizer for `kubectl delete --cascade=orphan`. */
const ORPHAN_FINALIZER = "orphan";

/** Brings the VM's instance in line with its runStrategy, and its status in line with the instance. Pure. */
export function writesForVm(vm: VirtualMachine, namesake: VirtualMachineInstance | undefined): Write[] {
  const owned = namesake?.metadata.ownerReferences?.some((owner) => owner.uid === vm.metadata.uid);
  const vmi = owned ? namesake : undefined;
  if (vm.metadata.deletionTimestamp !== undefined) {
    const orphaned = vm.metadata.finalizers?.includes(ORPHAN_FINALIZER) ?? false;
    return vmi === undefined || orphaned ? finalizer(vm, VM_FINALIZER, false) : deletion(vmi);
  }
  const unprotected = finalizer(vm, VM_FINALIZER, true);
  if (unprotected.length > 0) return unprotected;
  const wanted = wantedInstance(runStrategyOf(vm), vmi);
  return [
    ...(wanted === "present" && vmi === undefined ? [{ verb: "create" as const, object: instanceOf(vm) }] : []),
    ...(wanted === "absent" && vmi !== undefined ? deletion(vmi) : []),
    ...vmStatus(vm, vmi),
  ];
}

function runStrategyOf(vm: VirtualMachine): RunStrategy {
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

/** The instance that a VM starts: its template under the VM's own name, without interfaces that are marked absent. */
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
    spec: withoutAbsent(template?.spec ?? {}),
  };
}

function withoutAbsent(spec: VmiSpec): VmiSpec {
  const { devices } = spec.domain ?? {};
  const absent = new Set(devices?.interfaces?.filter(({ state }) => state === "absent").map(({ name }) => name));
  if (absent.size === 0) return spec;
  const isPresent = ({ name }: { readonly name: string }): boolean => !absent.has(name);
  return {
    ...spec,
    domain: { ...spec.domain, devices: { ...devices, interfaces: (devices?.interfaces ?? []).filter(isPresent) } },
    networks: (spec.networks ?? []).filter(isPresent),
  };
}

function vmStatus(vm: VirtualMachine, vmi: VirtualMachineInstance | undefined): Write[] {
  const status = {
    ...vm.status,
    created: vmi !== undefined,
    ready: vmi?.status?.phase === "Running" && vmi.metadata.deletionTimestamp === undefined,
    printableStatus: printableStatus(vmi),
  };
  return isDeepStrictEqual(status, vm.status) ? [] : [{ verb: "status", object: vm, status }];
}

function printableStatus(vmi: VirtualMachineInstance | undefined): string {
  if (vmi === undefined) return "Stopped";
  if (vmi.metadata.deletionTimestamp !== undefined) return "Stopping";
  switch (vmi.status?.phase) {
    case "Running":
      return isMigrating(vmi.status.migrationState) ? "Migrating" : "Running";
    case "Succeeded":
    case "Failed":
      return "Stopped";
    case "WaitingForSync":
      return "WaitingForReceiver";
    default:
      return "Starting";
  }
}
