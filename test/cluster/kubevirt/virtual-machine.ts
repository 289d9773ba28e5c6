import * as kinds from "../../../src/api/kinds.ts";
import type { KubeObject, ObjectMeta, Resource } from "../../../src/kube/client/resource.ts";

/** The parts of kubevirt.io/v1 that virt-controller's stand-in reads and writes; everything else is passed through. */

export type RunStrategy = "Always" | "Halted" | "Manual" | "Once" | "RerunOnFailure" | "WaitAsReceiver";

export interface VmInterface {
  readonly name: string;
  readonly macAddress?: string;
  readonly state?: string;
  readonly [binding: string]: unknown;
}

export interface VmNetwork {
  readonly name: string;
  readonly pod?: object;
  readonly multus?: { readonly networkName: string; readonly default?: boolean };
}

export interface VmiSpec {
  readonly domain?: { readonly devices?: { readonly interfaces?: readonly VmInterface[] } };
  readonly networks?: readonly VmNetwork[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly terminationGracePeriodSeconds?: number;
  readonly [field: string]: unknown;
}

export interface VirtualMachine extends KubeObject {
  readonly spec?: {
    readonly runStrategy?: RunStrategy;
    readonly running?: boolean;
    readonly template?: { readonly metadata?: ObjectMeta; readonly spec?: VmiSpec };
  };
  readonly status?: { readonly created?: boolean; readonly ready?: boolean; readonly printableStatus?: string };
}

export type VmiPhase = "Pending" | "Scheduling" | "Scheduled" | "Running" | "Succeeded" | "Failed" | "WaitingForSync";

export interface VmiInterfaceStatus {
  readonly name: string;
  readonly mac?: string;
  readonly ipAddress?: string;
  readonly podInterfaceName: string;
  readonly infoSource: string;
}

export interface MigrationState {
  readonly migrationUid: string;
  readonly sourceNode: string;
  readonly targetNode?: string;
  readonly sourcePod: string;
  readonly targetPod?: string;
  readonly completed?: boolean;
  readonly failed?: boolean;
}

export interface VirtualMachineInstance extends KubeObject {
  readonly spec?: VmiSpec;
  readonly status?: {
    readonly phase?: VmiPhase;
    readonly nodeName?: string;
    readonly activePods?: Readonly<Record<string, string>>;
    readonly interfaces?: readonly VmiInterfaceStatus[];
    readonly migrationState?: MigrationState;
  };
}

export type MigrationPhase = "Pending" | "Scheduling" | "Running" | "Succeeded" | "Failed";

export interface VirtualMachineInstanceMigration extends KubeObject {
  readonly spec?: { readonly vmiName?: string };
  readonly status?: { readonly phase?: MigrationPhase; readonly migrationState?: MigrationState };
}

export const VIRTUAL_MACHINES: Resource<VirtualMachine> = kinds.VIRTUAL_MACHINES;
export const VIRTUAL_MACHINE_INSTANCES: Resource<VirtualMachineInstance> = kinds.VIRTUAL_MACHINE_INSTANCES;
export const MIGRATIONS: Resource<VirtualMachineInstanceMigration> = kinds.VIRTUAL_MACHINE_INSTANCE_MIGRATIONS;

/** Finalizers as KubeVirt's controllers set them. */
export const VM_FINALIZER = "kubevirt.io/virtualMachineControllerFinalize";
export const VMI_FINALIZER = "foregroundDeleteVirtualMachine";

export const isFinal = (phase: VmiPhase | undefined): boolean => phase === "Succeeded" || phase === "Failed";
