import type { ClaimOwner, MACClaim } from "../../src/api/mac-claim.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { type Change, keyOf, type ObjectStore } from "../support/object-store.ts";
import { areApart, domainsHeld } from "./layer2.ts";
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
  /** Addresses that the webhook has admitted for it, and when it was asked: they have claims before it is stored. */
  readonly granted: ReadonlyMap<string, number>;
  /** Those of them that the pool chose. */
  readonly chosen: ReadonlySet<string>;
  /** Those that it may share: a warning was given, or it waits to receive a migration. */
  readonly excused: ReadonlySet<string>;
  /** The pool has answered whether it may run. */
  readonly isGated: boolean;
  /** It waited to receive a migration and does so no longer: what it keeps, it has as if it were new. */
  readonly judgedAnew: boolean;
  /** Addresses that the pool let be plugged into it while it runs. */
  readonly plugged?: ReadonlySet<string>;
}

export interface Holding extends Provenance {
  /** Kind and key of the object. */
  readonly id: string;
  readonly sinceMs: number;
  /** The layer-2 domain that it is in, as far as that is known. */
  readonly domain: string | undefined;
}

type Holder = Pick<Holding, "id" | "party">;

/** Who holds an address in which domain. */
export type Place = Pick<Holding, "party" | "domain">;

interface AuditState {
  readonly provenance: ReadonlyMap<string, Provenance>;
  readonly runsWith: ReadonlyMap<string, ReadonlySet<string>>;
  readonly forgiven: ReadonlyMap<string, number>;
  readonly holdings: ReadonlyMap<string, ReadonlyMap<string, Holding>>;
}

function refill<V>(map: Map<string, V>, entries: ReadonlyMap<string, V>): void {
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}

export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

export const nameOf = ({ kind, namespace, name }: Party): string => `${kind} ${namespace}/${name}`;

/**
 * Watches every write and knows from the objects alone who holds what. Throws a Violation the moment that two objects
 * hold one address without leave, or the claim of an address that is held goes away.
 */
export class Auditor {
  /** No two objects that share an address may run at once. */
  isExclusive = false;
  /** Whether two may have an address because they can't meet. */
  mayBeApart: (one: Party, other: Party) => boolean = () => false;
  /** Whether the pool manages the object. */
  isManaged: (holding: Holder) => boolean = () => true;
  /** Whether the pool learns from the object alone that it has the address, at any time and whoever else lists it. */
  isObserved: (holding: Holder, mac: string) => boolean = () => true;
  readonly #etcd: ObjectStore;
  readonly #nowMs: () => number;
  readonly #provenance = new Map<string, Provenance>();
  /** What runs -> the addresses that the pool let it run with. */
  readonly #runsWith = new Map<string, ReadonlySet<string>>();
  /** Name of a claim that was deleted by hand -> when, until it names every holder again. */
  readonly #forgiven = new Map<string, number>();
  /** Address -> object -> how it holds it. */
  readonly #holdings = new Map<string, Map<string, Holding>>();

  constructor(etcd: ObjectStore, nowMs: () => number) {
    this.#etcd = etcd;
    this.#nowMs = nowMs;
    etcd.watch((change) => this.#see(change));
  }

  /** Has to be called just before an object is stored; what is not registered keeps what it had. */
  register(kind: string, key: string, provenance: Provenance): void {
    this.#provenance.set(`${kind} ${key}`, provenance);
  }

  provenanceOf(object: KubeObject): Provenance | undefined {
    return this.#provenance.get(idOf(object));
  }

  /** The claim may go, and come back without some of the holders that it had. No address may be given out twice by that. */
  forgive(claim: string): void {
    this.#forgiven.set(claim, this.#nowMs());
  }

  /** Whether the claim was deleted by hand and nobody has to make it again: who only lists the address had nothing else. */
  isLost(mac: string, holding: Holder): boolean {
    return this.#forgiven.has(claimKey(mac)) && !this.isObserved(holding, mac);
  }

  /** What it knows, to come back with a snapshot of etcd. */
  snapshot(): AuditState {
    const holdings = new Map([...this.#holdings].map(([mac, holders]) => [mac, new Map(holders)]));
    const [provenance, runsWith] = [new Map(this.#provenance), new Map(this.#runsWith)];
    return { provenance, runsWith, forgiven: new Map(this.#forgiven), holdings };
  }

  restore({ provenance, runsWith, forgiven, holdings }: AuditState): void {
    refill(this.#provenance, provenance);
    refill(this.#runsWith, runsWith);
    refill(this.#forgiven, forgiven);
    refill(this.#holdings, new Map([...holdings].map(([mac, holders]) => [mac, new Map(holders)])));
  }

  /** Addresses that are held at the moment. */
  heldMacs(): string[] {
    return [...this.#holdings].filter(([, holders]) => holders.size > 0).map(([mac]) => mac);
  }

  holdersOf(mac: string): readonly Holding[] {
    return [...(this.#holdings.get(mac)?.values() ?? [])];
  }

  isApart(one: Place, other: Place): boolean {
    return areApart(one.domain, other.domain) && this.mayBeApart(one.party, other.party);
  }

  #see({ plural, type, object, old }: Change): void {
    if (plural === "macclaims") {
      if (type !== "ADDED") this.#checkClaim(object as unknown as MACClaim, type === "DELETED");
      return;
    }
    if (plural === "namespaces") this.#disownPods();
    if (object.kind === undefined || !(object.kind in PLURALS)) return;
    const id = idOf(object);
    const before = old === undefined ? [] : macsHeld(old);
    const now = type === "DELETED" ? [] : macsHeld(object);
    const domains = domainsHeld(object);
    const provenance = this.#provenanceNow(id);
    /** Since when a VM that waits no longer has had an address in its own right. */
    const ownSinceMs = new Map<string, number>();
    for (const mac of before) {
      const held = this.#holdings.get(mac)?.get(id);
      const isOwn = held !== undefined && !held.excused.has(mac) && held.domain === domains.get(mac);
      if (isOwn && provenance?.judgedAnew) ownSinceMs.set(mac, held.sinceMs);
      if (!now.includes(mac) || provenance?.judgedAnew) this.#holdings.get(mac)?.delete(id);
    }
    if (type === "DELETED") {
      this.#provenance.delete(id);
      this.#runsWith.delete(id);
    }
    if (provenance === undefined) return;
    const gained = now.filter((mac) => isAdmitted(mac, type, provenance) && !before.includes(mac));
    if (runs(object)) this.#run(id, gained, provenance, domains);
    for (const mac of now) {
      const holders = this.#holdings.get(mac) ?? new Map<string, Holding>();
      this.#holdings.set(mac, holders);
      const known = holders.get(id);
      const domain = domains.get(mac) ?? known?.domain;
      if (known !== undefined && known.domain === domain) continue;
      this.#checkSharing(mac, { ...provenance, domain }, ownSinceMs.get(mac));
      holders.set(id, { ...provenance, id, domain, sinceMs: this.#nowMs() });
      const askedMs = provenance.granted.get(mac);
      if (askedMs !== undefined) this.#checkCovered(mac, provenance.party, askedMs);
    }
  }

  /** A pod that the pool does not manage has no right to what it was given before: nobody is kept from it. */
  #provenanceNow(id: string): Provenance | undefined {
    const known = this.#provenance.get(id);
    if (known?.party.kind !== "Pod" || this.isManaged({ id, party: known.party })) return known;
    const disowned = { ...known, granted: new Map() };
    this.#provenance.set(id, disowned);
    return disowned;
  }

  #disownPods(): void {
    for (const holders of this.#holdings.values()) {
      for (const [id, holding] of holders)
        if (holding.party.kind === "Pod") holders.set(id, { ...holding, ...this.#provenanceNow(id) });
    }
  }

  /** No two live objects hold one address unless the policy allows it, and whoever comes second was told. */
  #checkSharing(
    mac: string,
    { party, granted, chosen, excused, domain }: Provenance & Place,
    ownSinceMs: number | undefined,
  ): void {
    const askedMs = granted.get(mac);
    if (askedMs === undefined || this.#holdings.get(mac)?.size === 0) return;
    for (const other of this.holdersOf(mac)) {
      if (!other.granted.has(mac) || nameOf(other.party) === nameOf(party)) continue;
      if (this.isLost(mac, other)) continue;
      const wasThere = other.sinceMs < (ownSinceMs ?? askedMs);
      const isApart = this.isApart({ party, domain }, other);
      const mayShare = isApart || excused.has(mac) || (other.excused.has(mac) && !wasThere);
      if (mayShare && !(wasThere && chosen.has(mac))) continue;
      throw new Violation("unique", `${mac} is held by ${nameOf(other.party)} and by ${nameOf(party)}`);
    }
  }

  /** Where only one may run, whoever was let run is alone with its addresses. */
  #run(
    id: string,
    macs: readonly string[],
    { party, granted }: Provenance,
    domains: ReadonlyMap<string, string | undefined>,
  ): void {
    if (macs.length === 0) return;
    this.#runsWith.set(id, new Set([...(this.#runsWith.get(id) ?? []), ...macs]));
    if (!this.isExclusive) return;
    for (const mac of macs) {
      const runner = this.holdersOf(mac).find(
        (other) =>
          nameOf(other.party) !== nameOf(party) &&
          other.granted.has(mac) &&
          this.#runsWith.get(other.id)?.has(mac) &&
          !this.isApart({ party, domain: domains.get(mac) }, other),
      );
      if (runner === undefined || !granted.has(mac)) continue;
      throw new Violation("exclusive", `${nameOf(party)} was let run with ${mac} while ${runner.id} runs with it`);
    }
  }

  /** What goes through the webhook has its claim before it is stored, unless that was deleted by hand since. */
  #checkCovered(mac: string, party: Party, askedMs: number): void {
    if (askedMs <= (this.#forgiven.get(claimKey(mac)) ?? Number.NEGATIVE_INFINITY)) return;
    const claim = this.#etcd.get("macclaims", claimKey(mac)) as unknown as MACClaim | undefined;
    if (claim === undefined || !isCovered(party, claim)) {
      throw new Violation("claimed", `${nameOf(party)} holds ${mac}, and ${describe(claim)}`);
    }
  }

  /** A claim stays, and names everybody who holds the address. */
  #checkClaim(claim: MACClaim, isGone: boolean): void {
    const { name = "" } = claim.metadata;
    const granted = this.holdersOf(claim.spec.mac).filter((holding) => holding.granted.has(claim.spec.mac));
    if (this.#forgiven.has(name)) {
      if (!isGone && granted.every(({ party }) => isCovered(party, claim))) this.#forgiven.delete(name);
      return;
    }
    for (const { party } of granted) {
      if (!isGone && isCovered(party, claim)) continue;
      const now = isGone ? "its claim was deleted" : `now ${describe(claim)}`;
      throw new Violation("kept", `${nameOf(party)} holds ${claim.spec.mac}, and ${now}`);
    }
  }
}

const PLURALS: Readonly<Record<HolderKind, string>> = {
  VirtualMachine: "virtualmachines",
  VirtualMachineInstance: "virtualmachineinstances",
  Pod: "pods",
};

/** What is on the network by being there: instances and pods of their own. Launchers run in the name of an instance. */
const runs = ({ kind, metadata: { ownerReferences } }: KubeObject): boolean =>
  kind === "VirtualMachineInstance" || (kind === "Pod" && ownerReferences === undefined);

/** Whether the pool was asked about what is there from now on. */
const isAdmitted = (mac: string, type: Change["type"], { isGated, plugged }: Provenance): boolean =>
  type === "ADDED" ? isGated : (plugged?.has(mac) ?? false);

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
