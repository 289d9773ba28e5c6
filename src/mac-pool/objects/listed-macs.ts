import { type Mac, parseMac } from "../../api/mac.ts";
import { WAIT_AS_RECEIVER } from "../../api/mac-pool-scope.ts";
import { LAUNCHER, LAUNCHER_LABEL } from "../../api/names.ts";
import type { KubeObject, OwnerReference } from "../../kube/client/resource.ts";
import { listAt, textAt } from "../../kube/json-path.ts";
import { MAX_INTERFACES } from "../claims/limits.ts";
import type { ObjectReference, ObservedOwner } from "../claims/owner.ts";
import { guestInterfaces, INSTANCE_SPEC, INTERFACES, VM_TEMPLATE_SPEC } from "./guest-interfaces.ts";
import { askedFor, askedMacs, isFinished, keptFor } from "./pod-networks.ts";

/**
 * Which addresses an object has, and for whom. The VMI of a VM and its launcher pods hold addresses for the VM: a changed
 * or unplugged interface keeps its address until the guest has released it.
 */

export interface ListedMac {
  readonly mac: Mac;
  readonly owner: ObservedOwner;
}

/** An address and the network that it is on. */
export interface AttachedMac {
  readonly mac: Mac;
  readonly network: string | undefined;
}

/** The addresses that a VM lists, and where. */
export function attachedMacs(vm: KubeObject): AttachedMac[] {
  return machineMacs(vm).map(({ mac, owner }) => ({ mac, network: owner.network }));
}

/** From so many interfaces on, what was read of a VM or VMI is kept: others may list the same addresses, which are looked up one by one. */
const MANY_INTERFACES = 8;
const hasMany =
  (specPath: readonly string[]) =>
  (object: KubeObject): boolean =>
    listAt(object, ...specPath, ...INTERFACES).length >= MANY_INTERFACES;

export const machineMacs = keptFor(hasMany(VM_TEMPLATE_SPEC), (vm): readonly ListedMac[] => {
  const receiver = textAt(vm, "spec", "runStrategy") === WAIT_AS_RECEIVER;
  const ref = { ...referenceOf("VirtualMachine", vm), receiver };
  return guestInterfaces(vm, VM_TEMPLATE_SPEC).flatMap((nic) =>
    nic.eligible ? listed(nic.mac, ref, nic.name, nic.network, COUNTS) : [],
  );
});

export const instanceMacs = keptFor(hasMany(INSTANCE_SPEC), (vmi): readonly ListedMac[] => {
  const ref = instanceOwner(vmi);
  const nics = guestInterfaces(vmi, INSTANCE_SPEC);
  const fromSpec = nics.flatMap((nic) => (nic.eligible ? listed(nic.mac, ref, nic.name, nic.network, COUNTS) : []));
  const known = new Set(fromSpec.map(({ mac }) => mac));
  const fromStatus = listAt(vmi, "status", "interfaces").flatMap((entry) => {
    const name = textAt(entry, "name");
    const nic = nics.find((candidate) => candidate.name === name);
    if (name === "" || (nic !== undefined && !nic.eligible)) return [];
    return listed(textAt(entry, "mac"), ref, name, nic?.network, nic === undefined ? DELAYS_ONLY : COUNTS);
  });
  return [...fromSpec, ...fromStatus.filter(({ mac }) => !known.has(mac))];
});

/** Finds the VMI that a launcher pod belongs to: same name and UID, or undefined when that one is gone. */
export type FindInstance = (owner: {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}) => KubeObject | undefined;

/**
 * What a pod asks multus for, unless it has ended. Whatever is written past the webhook, it owns no more than an object may
 * have; as many again are the pool's last choice, and the rest is not read. `only`: of this address.
 */
export function podMacs(pod: KubeObject, findInstance: FindInstance = () => undefined, only?: Mac): ListedMac[] {
  if (isFinished(pod)) return [];
  const asked = only === undefined ? askedMacs(pod) : askedFor(pod, only);
  if (asked.length === 0) return [];
  const refs = isLauncher(pod) ? launcherOwners(pod, findInstance) : [referenceOf("Pod", pod)];
  const weightOf = (index: number): Weight => (index < MAX_INTERFACES ? COUNTS : ONLY_LISTS);
  return asked.flatMap(({ mac, index, interface: name, network }) => {
    const weight = isLauncher(pod) ? LAUNCHER_SAYS : weightOf(index);
    return refs.map((ref) => ({ mac, owner: { ...ref, interface: name, network, ...weight } }));
  });
}

/** The label alone makes no launcher: it is on any pod that somebody writes it on. */
export function isLauncher(pod: KubeObject): boolean {
  return pod.metadata.labels?.[LAUNCHER_LABEL] === LAUNCHER && instanceOf(pod) !== undefined;
}

/** The VMI that a launcher belongs to, as far as the pod tells. */
export const instanceOf = ({ metadata }: KubeObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ kind }) => kind === "VirtualMachineInstance");

/**
 * The VM that a VMI belongs to, as far as the VMI tells. KubeVirt gives both the same name: one that names another VM is not
 * found where its VM's VMI is looked for.
 */
export function machineOf(vmi: unknown): { readonly name: string; readonly uid: string } | undefined {
  const name = textAt(vmi, "metadata", "name");
  const isOwner = (owner: unknown): boolean =>
    textAt(owner, "kind") === "VirtualMachine" && textAt(owner, "name") === name;
  const owner = listAt(vmi, "metadata", "ownerReferences").find(isOwner);
  return owner === undefined ? undefined : { name, uid: textAt(owner, "uid") };
}

export function referenceOf(kind: ObjectReference["kind"], object: KubeObject): ObjectReference {
  const { namespace = "", name, uid } = object.metadata;
  return { kind, namespace, name, uid };
}

/** The VM that a VMI belongs to, else the VMI itself. */
export function instanceOwner(vmi: KubeObject): ObjectReference {
  const owner = machineOf(vmi);
  if (owner === undefined) return referenceOf("VirtualMachineInstance", vmi);
  return { kind: "VirtualMachine", namespace: vmi.metadata.namespace ?? "", name: owner.name, uid: owner.uid };
}

/** One owner per name; of several, the one that says most. */
export function distinctOwnersSeen(observedOwners: readonly ObservedOwner[]): ObservedOwner[] {
  return distinct(observedOwners, () => "");
}

/** The same for each network that the object has the address on. */
export function distinctPlaces(observedOwners: readonly ObservedOwner[]): ObservedOwner[] {
  return distinct(observedOwners, ({ network = "" }) => network);
}

/** An owner without a name is like itself only. */
function distinct(
  observedOwners: readonly ObservedOwner[],
  placeOf: (owner: ObservedOwner) => string,
): ObservedOwner[] {
  const found = new Map<unknown, ObservedOwner>();
  for (const observed of [...observedOwners].sort((a, b) => vagueness(a) - vagueness(b))) {
    const { kind, namespace, name } = observed;
    const key = name === undefined ? observed : `${kind}/${namespace}/${name} ${placeOf(observed)}`;
    if (!found.has(key)) found.set(key, observed);
  }
  return [...found.values()];
}

const vagueness = ({ uid, countsAsOwner, receiver }: ObservedOwner): number =>
  (uid === undefined ? 4 : 0) + (countsAsOwner ? 0 : 2) + (receiver === undefined ? 1 : 0);

/** What an object says about its owner. */
type Weight = Pick<ObservedOwner, "countsAsOwner" | "onlyLists" | "byLauncher">;

const COUNTS: Weight = { countsAsOwner: true };
const DELAYS_ONLY: Weight = { countsAsOwner: false };
const ONLY_LISTS: Weight = { countsAsOwner: false, onlyLists: true };
const LAUNCHER_SAYS: Weight = { countsAsOwner: false, byLauncher: true };

/**
 * A launcher pod holds addresses for the owner of its VMI. Without the VMI it is unknown whether there was a VM: the pod
 * then stands, without a UID, for a VM and for a VMI of that name.
 */
function launcherOwners(pod: KubeObject, findInstance: FindInstance): ObjectReference[] {
  const owner = instanceOf(pod);
  if (owner === undefined) return [];
  const named = { namespace: pod.metadata.namespace ?? "", name: owner.name };
  const instance = findInstance({ ...named, uid: owner.uid });
  if (instance !== undefined) return [instanceOwner(instance)];
  return [
    { kind: "VirtualMachine", ...named },
    { kind: "VirtualMachineInstance", ...named },
  ];
}

function listed(
  text: string,
  ref: ObjectReference & { readonly receiver?: boolean },
  interfaceName: string,
  network: string | undefined,
  weight: Weight,
): ListedMac[] {
  const mac = text === "" ? undefined : parseMac(text);
  if (mac === undefined) return [];
  return [{ mac, owner: { ...ref, interface: interfaceName, network, ...weight } }];
}
