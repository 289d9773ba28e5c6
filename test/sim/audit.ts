import type { ClaimOwner, MACClaim } from "../../src/api/mac-claim.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { type Change, type Etcd, keyOf } from "./etcd.ts";
import { type HolderKind, macsHeld } from "./objects.ts";

/** Who holds an address in the auditor's eyes. A VMI of a VM and their launcher pods hold for the VM. */
export interface Party {
  readonly kind: HolderKind;
  readonly namespace: string;
  readonly name: string;
}

/** How an object came by its addresses, told by whoever has it stored. */
export interface Provenance {
  readonly party: Party;
  /** Its addresses have claims before it is stored: it went through the webhook. */
  readonly managed: boolean;
  /** Addresses that it may share: a warning was given, or it waits to receive a migration. */
  readonly excused: ReadonlySet<string>;
  /** Addresses that the pool chose, and when its webhook was called. */
  readonly chosen: ReadonlyMap<string, number>;
}

interface Holding extends Provenance {
  readonly sinceMs: number;
}

export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

const nameOf = ({ kind, namespace, name }: Party): string => `${kind} ${namespace}/${name}`;

/**
 * Watches every write and knows from the objects alone who holds what. Throws a Violation the moment that two objects
 * hold one address without leave, or the claim of an address that is held goes away.
 */
export class Auditor {
  /** Set once a pool has allowed sharing what is asked for: a repeated answer has no warning any more. */
  allowsSharing = false;
  readonly #etcd: Etcd;
  readonly #nowMs: () => number;
  readonly #provenance = new Map<string, Provenance>();
  /** Addresses with the names that may share them: who comes again under the name of an owner gets what that one had. */
  readonly #excused = new Set<string>();
  /** Address -> object -> how it holds it. */
  readonly #holdings = new Map<string, Map<string, Holding>>();

  constructor(etcd: Etcd, nowMs: () => number) {
    this.#etcd = etcd;
    this.#nowMs = nowMs;
    etcd.watch((change) => this.#see(change));
  }

  /** Has to be called just before an object is stored; what is not registered keeps what it had. */
  register(kind: string, key: string, provenance: Provenance): void {
    for (const mac of provenance.excused) this.#excused.add(`${mac} ${nameOf(provenance.party)}`);
    this.#provenance.set(`${kind} ${key}`, provenance);
  }

  provenanceOf(object: KubeObject): Provenance | undefined {
    return this.#provenance.get(idOf(object));
  }

  /** Addresses that are held at the moment. */
  heldMacs(): string[] {
    return [...this.#holdings].filter(([, holders]) => holders.size > 0).map(([mac]) => mac);
  }

  holdersOf(mac: string): readonly Holding[] {
    return [...(this.#holdings.get(mac)?.values() ?? [])];
  }

  #see({ plural, type, object, old }: Change): void {
    if (plural === "macclaims") {
      if (type !== "ADDED") this.#checkClaim(object as unknown as MACClaim, type === "DELETED");
      return;
    }
    if (object.kind === undefined || !(object.kind in PLURALS)) return;
    const id = idOf(object);
    const before = old === undefined ? [] : macsHeld(old);
    const now = type === "DELETED" ? [] : macsHeld(object);
    for (const mac of before) if (!now.includes(mac)) this.#holdings.get(mac)?.delete(id);
    const provenance = this.#provenance.get(id);
    if (type === "DELETED") this.#provenance.delete(id);
    if (provenance === undefined) return;
    for (const mac of now) {
      const holders = this.#holdings.get(mac) ?? new Map<string, Holding>();
      this.#holdings.set(mac, holders);
      if (holders.has(id)) continue;
      this.#checkSharing(mac, provenance);
      holders.set(id, { ...provenance, sinceMs: this.#nowMs() });
      if (provenance.managed) this.#checkCovered(mac, provenance.party);
    }
  }

  /** No two live objects hold one address unless the policy allows it. */
  #checkSharing(mac: string, { party, managed, chosen }: Provenance): void {
    const chosenAtMs = chosen.get(mac);
    for (const other of this.holdersOf(mac)) {
      if (nameOf(other.party) === nameOf(party)) continue;
      if (!managed || !other.managed) continue;
      const wasThere = chosenAtMs !== undefined && other.sinceMs < chosenAtMs;
      if (wasThere || !(this.allowsSharing || this.#mayShare(mac, party) || this.#mayShare(mac, other.party))) {
        throw new Violation("unique", `${mac} is held by ${nameOf(other.party)} and by ${nameOf(party)}`);
      }
    }
  }

  #mayShare(mac: string, party: Party): boolean {
    return this.#excused.has(`${mac} ${nameOf(party)}`);
  }

  /** What goes through the webhook has its claim before it is stored. */
  #checkCovered(mac: string, party: Party): void {
    const claim = this.#etcd.get("macclaims", claimKey(mac)) as unknown as MACClaim | undefined;
    if (claim === undefined || !isCovered(party, claim)) {
      throw new Violation("claimed", `${nameOf(party)} holds ${mac}, and ${describe(claim)}`);
    }
  }

  /** A claim stays, and names everybody who holds the address. */
  #checkClaim(claim: MACClaim, isGone: boolean): void {
    for (const { party, managed } of this.holdersOf(claim.spec.mac)) {
      if (managed && (isGone || !isCovered(party, claim))) {
        const now = isGone ? "its claim was deleted" : `now ${describe(claim)}`;
        throw new Violation("kept", `${nameOf(party)} holds ${claim.spec.mac}, and ${now}`);
      }
    }
  }
}

const PLURALS: Readonly<Record<HolderKind, string>> = {
  VirtualMachine: "virtualmachines",
  VirtualMachineInstance: "virtualmachineinstances",
  Pod: "pods",
};

const idOf = (object: KubeObject): string => `${object.kind} ${keyOf(object.metadata)}`;

export const claimKey = (mac: string): string => `mac-${mac.replaceAll(":", "-")}`;

function isCovered(party: Party, claim: MACClaim): boolean {
  if (claim.status?.phase === "Quarantined") return false;
  return (claim.status?.owners ?? []).some((owner) => isOwner(owner, party));
}

export function isOwner(owner: ClaimOwner, { kind, namespace, name }: Party): boolean {
  if (owner.kind !== kind || owner.namespace !== namespace) return false;
  return owner.name === undefined ? name.startsWith(owner.generateName ?? "-") : owner.name === name;
}

export function describe(claim: MACClaim | undefined): string {
  if (claim === undefined) return "it has no claim";
  const owners = (claim.status?.owners ?? []).map(({ kind, namespace, name, generateName, uid }) =>
    [`${kind} ${namespace}/${name ?? `${generateName}*`}`, uid].filter(Boolean).join(" "),
  );
  return `its claim is ${claim.status?.phase} for ${owners.join(" and ") || "nobody"}`;
}
