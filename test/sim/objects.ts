import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION, POD_WEBHOOK, VM_WEBHOOK } from "../../src/api/names.ts";
import type { KubeObject, Resource } from "../../src/kube/client/resource.ts";
import { KINDS } from "../../src/mac-pool/objects/kinds.ts";

/** The objects of the simulated cluster: built here, and read here by the auditor, never with the product's own eyes. */

export interface Nic {
  readonly name: string;
  readonly macAddress?: string | undefined;
  readonly state?: string | undefined;
  readonly bridge: object;
  /** Its network, where that has not the name of the interface. */
  readonly network?: string | undefined;
}

export const RESOURCE_OF = {
  VirtualMachine: KINDS.virtualMachines,
  VirtualMachineInstance: KINDS.instances,
  Pod: KINDS.pods,
} as const satisfies Record<string, Resource>;

export type HolderKind = keyof typeof RESOURCE_OF;

interface GuestSpec {
  readonly networks?: readonly { readonly name: string; readonly multus: { readonly networkName: string } }[];
  readonly domain: { readonly devices: { readonly interfaces: readonly Nic[] } };
}

export interface Attachment {
  readonly name: string;
  readonly mac?: string | undefined;
}

const guestSpec = (nics: readonly Nic[]) => ({
  domain: { devices: { interfaces: nics.map(({ network: _, ...nic }) => nic) } },
  networks: nics.map(({ name, network = `net-${name}` }) => ({ name, multus: { networkName: network } })),
});

export const nic = (name: string, mac?: string, network?: string): Nic => ({
  name,
  ...(mac === undefined ? {} : { macAddress: mac }),
  bridge: {},
  ...(network === undefined ? {} : { network }),
});

export interface Named {
  readonly namespace: string;
  readonly name?: string | undefined;
  readonly generateName?: string | undefined;
}

export function machine(named: Named, nics: readonly Nic[], receiver: boolean): KubeObject {
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: { ...named },
    spec: { runStrategy: receiver ? "WaitAsReceiver" : "Halted", template: { spec: guestSpec(nics) } },
  };
}

/** A VM that waits to receive a live migration. */
export const isReceiver = (vm: KubeObject): boolean =>
  (vm.spec as { runStrategy?: string } | undefined)?.runStrategy === "WaitAsReceiver";

export const isHalted = (vm: KubeObject): boolean =>
  (vm.spec as { runStrategy?: string } | undefined)?.runStrategy === "Halted";

export function withStrategy(vm: KubeObject, runStrategy: string): KubeObject {
  return { ...vm, spec: { ...(vm.spec as object), runStrategy } };
}

/** The same with its own opt-out label set or taken away. */
export function optedOut<T extends KubeObject>(object: T, isOut: boolean): T {
  const label = object.kind === "Pod" ? POD_WEBHOOK : VM_WEBHOOK;
  const { [label]: _, ...labels } = object.metadata.labels ?? {};
  return {
    ...object,
    metadata: { ...object.metadata, labels: isOut ? { ...labels, [label]: "ignore" } : labels },
  };
}

export function isOptedOut(object: KubeObject): boolean {
  return object.metadata.labels?.[object.kind === "Pod" ? POD_WEBHOOK : VM_WEBHOOK] === "ignore";
}

export function withNics(vm: KubeObject, nics: readonly Nic[]): KubeObject {
  const spec = vm.spec as { runStrategy: string };
  return { ...vm, spec: { ...spec, template: { spec: guestSpec(nics) } } };
}

/** An instance that somebody makes without a VM. */
export function instance(named: Named, nics: readonly Nic[]): KubeObject {
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstance",
    metadata: { ...named },
    spec: guestSpec(nics),
    status: { phase: "Scheduled", interfaces: [] },
  };
}

export function withInstanceNics(vmi: KubeObject, nics: readonly Nic[]): KubeObject {
  return { ...vmi, spec: guestSpec(nics) };
}

/** `net-a, net-b@eth1`: only where no address is asked for. */
function inShort(attachments: readonly Attachment[]): string {
  return attachments.map(({ name }, index) => (index % 2 === 0 ? name : `other/${name}@eth${index}`)).join(", ");
}

export function attachmentsIn(object: KubeObject): Attachment[] {
  const text = object.metadata.annotations?.[NETWORKS_ANNOTATION] ?? "[]";
  return text.startsWith("[") ? (JSON.parse(text) as Attachment[]) : text.split(",").map((name) => ({ name }));
}

/** A pod of its own; no launcher. */
export function pod(named: Named, attachments: readonly Attachment[], short: boolean): KubeObject {
  const canBeShort = short && attachments.every(({ mac }) => mac === undefined);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...named,
      annotations: { [NETWORKS_ANNOTATION]: canBeShort ? inShort(attachments) : JSON.stringify(attachments) },
    },
    spec: {},
    status: { phase: "Pending" },
  };
}

/** A pod that runs with the networks that it asks for. */
export function running(object: KubeObject): KubeObject {
  const annotations = {
    ...object.metadata.annotations,
    [NETWORK_STATUS_ANNOTATION]: JSON.stringify(attachmentsIn(object)),
  };
  const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
  return { ...object, metadata: { ...object.metadata, annotations }, status };
}

export function inPhase(object: KubeObject, phase: string): KubeObject {
  const annotations = { ...object.metadata.annotations, [NETWORK_STATUS_ANNOTATION]: "[]" };
  return { ...object, metadata: { ...object.metadata, annotations }, status: { phase } };
}

export function nicsOf(object: KubeObject): readonly Nic[] {
  const spec = object.spec as { template?: { spec: GuestSpec } } & GuestSpec;
  const guest = object.kind === "VirtualMachine" ? spec.template?.spec : spec;
  return (guest?.domain.devices.interfaces ?? []).map((nic) => {
    const network = guest?.networks?.find(({ name }) => name === nic.name)?.multus.networkName;
    return network === undefined || network === `net-${nic.name}` ? nic : { ...nic, network };
  });
}

/** Every address that an object holds: nothing once a pod has ended. */
export function macsHeld(object: KubeObject): readonly string[] {
  const status = object.status as { phase?: string; interfaces?: { mac?: string }[] } | undefined;
  if (object.kind === "Pod") {
    if (status?.phase === "Succeeded" || status?.phase === "Failed") return [];
    return distinct(attachmentsIn(object).map(({ mac }) => mac));
  }
  return distinct([
    ...nicsOf(object).map(({ macAddress }) => macAddress),
    ...(status?.interfaces ?? []).map(({ mac }) => mac),
  ]);
}

/** How many interfaces of an object have no address yet. */
export function wishesOf(object: KubeObject): number {
  if (object.kind !== "Pod") return nicsOf(object).filter(({ macAddress }) => macAddress === undefined).length;
  return attachmentsIn(object).filter(({ mac }) => mac === undefined).length;
}

function distinct(macs: readonly (string | undefined)[]): string[] {
  return [...new Set(macs.filter((mac): mac is string => mac !== undefined && mac !== ""))];
}
