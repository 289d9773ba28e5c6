import { VIRTUAL_MACHINE_INSTANCES, VIRTUAL_MACHINES } from "../api/kinds.ts";
import { OWNER_KINDS, type OwnerKind } from "../api/mac-claim.ts";
import type { OwnerRef } from "./backends/pool-backend.ts";
import { UsageError } from "./command-line.ts";

/** How users name a VM, a VMI or a pod. */
export const OWNER_FORMS = "NAME, NAMESPACE/NAME, KIND/NAME or KIND/NAMESPACE/NAME";

/** Kinds by kubectl's names for them. */
const KINDS: ReadonlyMap<string, OwnerKind> = new Map<string, OwnerKind>([
  ...[VIRTUAL_MACHINES, VIRTUAL_MACHINE_INSTANCES].flatMap(({ kind, plural, group }): [string, OwnerKind][] =>
    [kind.toLowerCase(), plural].flatMap((name) => [name, `${name}.${group}`].map((each) => [each, kind as OwnerKind])),
  ),
  ...["vm", "vms"].map((name): [string, OwnerKind] => [name, "VirtualMachine"]),
  ...["vmi", "vmis"].map((name): [string, OwnerKind] => [name, "VirtualMachineInstance"]),
  ...["po", "pod", "pods"].map((name): [string, OwnerKind] => [name, "Pod"]),
]);

/** What a text names; of what it leaves out, anything. */
export interface NamedOwner {
  readonly kind?: OwnerKind;
  readonly namespace?: string;
  readonly name: string;
}

/** `pod/web` is a pod, and no object of a namespace `pod`: that is KIND/pod/web. Throws where the text names nothing. */
export function namedOwner(text: string): NamedOwner {
  const parts = text.split("/");
  const [name = "", before, first] = parts.toReversed();
  if (parts.length > 3 || parts.includes("")) {
    throw new UsageError(`${JSON.stringify(text)} names no object: write ${OWNER_FORMS}`);
  }
  if (before === undefined) return { name };
  const kind = KINDS.get((first ?? before).toLowerCase());
  if (first === undefined) return kind === undefined ? { namespace: before, name } : { kind, name };
  if (kind === undefined) throw new UsageError(`unknown kind ${JSON.stringify(first)}: use vm, vmi or pod`);
  return { kind, namespace: before, name };
}

/** The object that is meant, of each kind that it may have, VMs first. */
export function ownersNamed({ kind, name }: NamedOwner, namespace: string): readonly OwnerRef[] {
  const kinds = kind === undefined ? OWNER_KINDS : [kind];
  return kinds.map((each) => ({ kind: each, namespace, name }));
}
