/** The parts of kubevirt.io/v1 that the stand-in for virt-controller reads and writes. Everything else is passed through. */

/** An object as it is on the wire. Nothing of the product is in these types: the stand-in judges it. */
export interface ApiObject {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata: Metadata;
}

export interface Metadata {
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly deletionTimestamp?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?: readonly OwnerReference[] | undefined;
}

interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | undefined;
  readonly blockOwnerDeletion?: boolean | undefined;
}

export type RunStrategy = "Always" | "Halted" | "Manual" | "Once" | "RerunOnFailure" | "WaitAsReceiver";

export interface VmInterface {
  readonly name: string;
  readonly macAddress?: string | undefined;
  readonly state?: string | undefined;
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

export interface VirtualMachine extends ApiObject {
  readonly spec?: {
    readonly runStrategy?: RunStrategy;
    readonly running?: boolean;
    readonly template?: { readonly metadata?: Metadata; readonly spec?: VmiSpec };
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

export interface VmiStatus {
  readonly phase?: VmiPhase;
  readonly nodeName?: string;
  readonly activePods?: Readonly<Record<string, string>>;
  readonly interfaces?: readonly VmiInterfaceStatus[];
  readonly migrationState?: MigrationState;
}

export interface VirtualMachineInstance extends ApiObject {
  readonly spec?: VmiSpec;
  readonly status?: VmiStatus;
}

export type MigrationPhase = "Pending" | "Scheduling" | "Running" | "Succeeded" | "Failed";

export interface Migration extends ApiObject {
  readonly spec?: { readonly vmiName?: string };
  readonly status?: { readonly phase?: MigrationPhase };
}

/** What is read of a virt-launcher pod. */
export interface Launcher extends ApiObject {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** Finalizers as KubeVirt's controllers set them. */
export const VM_FINALIZER = "kubevirt.io/virtualMachineControllerFinalize";
export const VMI_FINALIZER = "foregroundDeleteVirtualMachine";

export const isFinal = (phase: VmiPhase | undefined): boolean => phase === "Succeeded" || phase === "Failed";

/** Whether a live migration goes on. */
export const isMigrating = (state: MigrationState | undefined): boolean =>
  state !== undefined && state.completed !== true && state.failed !== true;
