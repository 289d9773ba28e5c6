import { type Mac, parseMac, unusableAs, withSeparators } from "../../api/mac.ts";
import { refusalOfInterfaces } from "../claims/name-lengths.ts";
import type { ObjectReference } from "../claims/owner.ts";
import {
  duplicate,
  invalidMac,
  type MacField,
  missingName,
  type Refusal,
  repeatedName,
  unusableMac,
} from "../claims/refusals.ts";

/** One interface of a VM, a VMI or a pod, as admission sees it. */
export interface RequestedInterface {
  /** Position in the object, where a patch goes. */
  readonly index: number;
  /** Empty where the object has none. */
  readonly name: string;
  readonly network?: string | undefined;
  /** As written; empty for none. */
  readonly mac: string;
  /** Whether the pool is concerned with it at all. */
  readonly eligible: boolean;
  /** Being unplugged: keeps what it has, gets nothing new. */
  readonly absent: boolean;
}

export type InterfaceStep =
  /** Claim this address. `had`: the object lists it as it is stored. */
  | { readonly action: "claim"; readonly to: RequestedInterface; readonly mac: Mac; readonly had: boolean }
  /** Choose a free address, claim it and write it into the object. */
  | { readonly action: "allocate"; readonly to: RequestedInterface }
  /** Write this address into the object: the one it had before, or the one it asks for without separators. */
  | { readonly action: "write"; readonly to: RequestedInterface; readonly text: string };

export interface PlanInput {
  readonly ref: ObjectReference;
  readonly field: MacField;
  readonly interfaces: readonly RequestedInterface[];
  /** Those of request.oldObject; empty for a creation. */
  readonly before: readonly RequestedInterface[];
  /** False where the old object was opted out: what it had is not claimed for it. */
  readonly claimedBefore: boolean;
  /** The object is judged like a new one: what it keeps is claimed again. */
  readonly judgedAnew: boolean;
  /** An address that is on another network than before is claimed again. */
  readonly perNetwork: boolean;
}

export type PlanResult =
  /** `listed`: every address that the object will list besides those to be allocated. */
  | { readonly ok: true; readonly steps: readonly InterfaceStep[]; readonly listed: ReadonlySet<Mac> }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * What admission has to do for an object, decided against the object's own previous state and never against a cache.
 * An address that the old object listed needs no claim: the API server stores an update only on top of exactly that
 * old object, so there is no moment at which the object does not list it.
 */
export function planInterfaces(input: PlanInput): PlanResult {
  const { ref, interfaces, field } = input;
  const refusal = refusalOfInterfaces(ref, interfaces) ?? checkNames(ref, interfaces);
  if (refusal !== undefined) return refuse(refusal);
  const asked = readMacs(ref, interfaces, field);
  if (!asked.ok) return asked;

  /** Interface -> its address as it is stored. */
  const stored = new Map<string, string>();
  /** Address -> its network. */
  const had = new Map<Mac, string | undefined>();
  const listedBefore = new Set<Mac>();
  for (const old of input.before) {
    const mac = parseMac(old.mac);
    if (input.claimedBefore) stored.set(old.name, old.mac);
    if (mac !== undefined && old.eligible) listedBefore.add(mac);
    if (mac !== undefined && old.eligible && input.claimedBefore) had.set(mac, old.network);
  }
  const used = new Set(asked.macs.values());
  const steps: InterfaceStep[] = [];
  const claim = (to: RequestedInterface, mac: Mac): void => {
    steps.push({ action: "claim", to, mac, had: listedBefore.has(mac) });
  };
  const isJudged = (mac: Mac, to: RequestedInterface): boolean =>
    !had.has(mac) || input.judgedAnew || (input.perNetwork && had.get(mac) !== to.network);
  for (const to of interfaces) {
    if (!to.eligible) continue;
    const mac = asked.macs.get(to.index);
    if (mac !== undefined) {
      if (isJudged(mac, to)) claim(to, mac);
      const text = withSeparators(to.mac);
      // What is stored already is left alone: nobody has changed it.
      if (text !== to.mac && to.mac !== stored.get(to.name)) steps.push({ action: "write", to, text });
      continue;
    }
    if (to.absent) continue;
    const before = stored.get(to.name) ?? "";
    const old = parseMac(before);
    if (old === undefined || used.has(old) || !had.has(old)) steps.push({ action: "allocate", to });
    else {
      used.add(old);
      if (isJudged(old, to)) claim(to, old);
      steps.push({ action: "write", to, text: withSeparators(before) });
    }
  }
  return { ok: true, steps, listed: used };
}

function checkNames(ref: ObjectReference, interfaces: readonly RequestedInterface[]): Refusal | undefined {
  const names = new Set<string>();
  for (const { name, index } of interfaces) {
    if (name === "") return missingName(ref, index);
    if (names.has(name)) return repeatedName(ref, name);
    names.add(name);
  }
  return undefined;
}

type ReadMacs =
  | { readonly ok: true; readonly macs: ReadonlyMap<number, Mac> }
  | { readonly ok: false; readonly refusal: Refusal };

/** Addresses by interface index. Interfaces that the pool does not manage count for duplicates only. */
function readMacs(ref: ObjectReference, interfaces: readonly RequestedInterface[], field: MacField): ReadMacs {
  const macs = new Map<number, Mac>();
  const interfaceNames = new Map<Mac, string>();
  for (const { index, name, mac: text, eligible } of interfaces) {
    if (text === "") continue;
    const mac = parseMac(text);
    if (mac === undefined) {
      if (eligible) return refuse(invalidMac(ref, name, text, field));
      continue;
    }
    const unusable = unusableAs(mac);
    if (eligible && unusable !== undefined) return refuse(unusableMac(ref, name, mac, unusable, field));
    const first = interfaceNames.get(mac);
    if (first !== undefined) return refuse(duplicate(ref, mac, first, name, field));
    interfaceNames.set(mac, name);
    macs.set(index, mac);
  }
  return { ok: true, macs };
}

function refuse(refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal };
}
