import { formatMac, type Mac } from "../../api/mac.ts";
import type { OwnerKind } from "../../api/mac-claim.ts";
import { areApart } from "./layer2-domain.ts";
import { SOMEBODY } from "./named-text.ts";

/** Something that runs and has an address. */
export interface RunningObject {
  readonly kind: OwnerKind;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** UIDs of the live migrations that it takes part in. */
  readonly migrations: readonly string[];
  readonly isManaged: boolean;
  /** Where only this annotation of a pod says that it has the address: who may write the pod can write it. */
  readonly saidBy?: "network-status";
  /** With `saidBy`: the pod asks for the address too, which nobody has judged. */
  readonly asksForIt?: true;
}

/** The objects that are on a network with another of them, or may be. `domains` are in the order of the objects. */
export function meetingObjects<P extends RunningObject>(
  refs: readonly P[],
  domains: readonly (readonly string[] | undefined)[],
): readonly P[] {
  const meet = (one: number, other: number): boolean => one !== other && !areApart(domains[one], domains[other]);
  return refs.filter((_, one) => refs.some((_, other) => meet(one, other)));
}

/**
 * The objects that an alarm can be about, each list by itself: those that the pool knows to have the address, and the managed
 * ones of one namespace, whatever they say of themselves. So nobody raises an alarm about an object of another namespace
 * by what they write into a pod.
 */
export function alarmingObjects<P extends RunningObject>(refs: readonly P[]): readonly (readonly P[])[] {
  const known = refs.filter(({ saidBy }) => saidBy === undefined);
  if (known.length === refs.length) return [known];
  const managed = refs.filter(({ isManaged }) => isManaged);
  return [known, ...Map.groupBy(managed, ({ namespace }) => namespace).values()];
}

const SHORT_KINDS: Readonly<Record<OwnerKind, string>> = {
  VirtualMachine: "vm",
  VirtualMachineInstance: "vmi",
  Pod: "pod",
};

/** `vmi/namespace/name`, as events name an object; KubeMacPool's do. */
export function objectKeyOf({ kind, namespace, name }: RunningObject): string {
  return `${SHORT_KINDS[kind]}/${namespace}/${name}`;
}

/**
 * How many objects have the address: those that one live migration connects are one, since source and target have the
 * same address by design and only one of them is on the network at a time.
 */
export function countObjects(refs: readonly RunningObject[]): number {
  const groups: Set<string>[] = [];
  for (const ref of refs) {
    const own = new Set([objectKeyOf(ref), ...ref.migrations]);
    const connected = groups.filter((group) => [...own].some((id) => group.has(id)));
    for (const group of connected) {
      for (const id of group) own.add(id);
      groups.splice(groups.indexOf(group), 1);
    }
    groups.push(own);
  }
  return groups.length;
}

/**
 * Text of the event on the objects of one namespace, which names no other's. It begins as KubeMacPool's, which alerts and
 * tests match.
 */
export function collisionMessage(mac: Mac, refs: readonly RunningObject[], namespace: string): string {
  const own = refs.filter((ref) => ref.namespace === namespace);
  const named = [...own.map(objectKeyOf).sort(), ...(own.length < refs.length ? [SOMEBODY] : [])].join(", ");
  return `MAC ${formatMac(mac)}: Collision between ${named}. Stop all but one of them, or change their addresses.`;
}
