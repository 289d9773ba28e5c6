import type { Mac } from "../../api/mac.ts";
import { type ClaimOwner, type MACClaim, MAX_CLAIM_OWNERS, type MacClaimStatus } from "../../api/mac-claim.ts";
import { isWaiting, newClaim, statusOf, withStatus } from "./claim.ts";
import { MAX_CREATIONS_OF_ONE_NAME } from "./limits.ts";
import { mayBe, ownerOf, type Party, type Sighting, sameParty } from "./party.ts";

/**
 * Decides the next step of a claim from live reads. Pure. The controller reads the claim before the objects, and writes the
 * result with the claim's resourceVersion. A decision on old facts ends in a conflict.
 */

/** What live reads say about one address; for a claim that is to be made, what the caches show. */
export interface Evidence {
  /** Objects that list the address now. */
  readonly holders: readonly Sighting[];
  /** Objects that exist under the owners' names, listing the address or not. */
  readonly existing: readonly Party[];
}

/** The same as somebody knows it, and what watches have told. */
export interface Known extends Evidence {
  /** Objects that were created with the address after this version of the claim was written, and may be gone. */
  readonly created: readonly Party[];
}

export interface LifecycleInput {
  readonly mac: Mac;
  readonly claim: MACClaim | undefined;
  readonly evidence: Known;
  /** Owners whose wait is over. This process counts from when it first saw each. */
  readonly overdue: ReadonlySet<ClaimOwner>;
  /** The quarantine is over. */
  readonly restOver: boolean;
  readonly nowMs: number;
  readonly quarantineMs: number;
  /** How a claim is made for holders that have none; undefined: none is made. */
  readonly adoptAs: { readonly pool: string | undefined; readonly origin: "explicit" | "observed" } | undefined;
}

export type LifecycleStep =
  | { readonly action: "none" }
  | { readonly action: "create" | "update" | "delete"; readonly claim: MACClaim };

const NONE: LifecycleStep = { action: "none" };

export function nextStep(input: LifecycleInput): LifecycleStep {
  const { claim, evidence, mac, nowMs } = input;
  const since = new Date(nowMs).toISOString();
  const adoptable = evidence.holders
    .filter((holder) => holder.adoptable)
    .map((holder) => ownerOf(holder, since))
    .slice(0, MAX_CLAIM_OWNERS);
  if (claim === undefined) {
    if (input.adoptAs === undefined || adoptable.length === 0) return NONE;
    return { action: "create", claim: newClaim(mac, input.adoptAs, { phase: "Bound", owners: adoptable }) };
  }
  const status = statusOf(claim);
  if (status.phase === "Quarantined") {
    if (adoptable.length > 0) return bound(claim, adoptable);
    return input.restOver ? { action: "delete", claim } : NONE;
  }
  const { owners, waiting, seen, wasHeld } = settle(status, evidence, input.overdue, since);
  if (waiting) {
    const phase = seen ? "Bound" : "Pending";
    if (phase === status.phase && sameOwners(owners, status.owners)) return NONE;
    return { action: "update", claim: withStatus(claim, { ...status, phase, owners: [...owners] }) };
  }
  if (owners.length > 0) {
    if (!isWaiting(status) && sameOwners(owners, status.owners)) return NONE;
    return bound(claim, owners);
  }
  return released(input, claim, wasHeld);
}

function bound(claim: MACClaim, owners: readonly ClaimOwner[]): LifecycleStep {
  return { action: "update", claim: withStatus(claim, { phase: "Bound", owners: [...owners] }) };
}

/** No object has the address: quarantine, unless no object ever had it. An interrupted quarantine begins anew. */
function released(input: LifecycleInput, claim: MACClaim, wasHeld: boolean): LifecycleStep {
  const status = statusOf(claim);
  const rests = (wasHeld || status.until !== undefined) && input.quarantineMs > 0;
  if (!rests) return { action: "delete", claim };
  const until = new Date(input.nowMs + input.quarantineMs).toISOString();
  return { action: "update", claim: withStatus(claim, { phase: "Quarantined", owners: [], until }) };
}

interface Settled {
  readonly owners: readonly ClaimOwner[];
  /** An owner was admitted and may still show up. */
  readonly waiting: boolean;
  /** Somebody of them lists the address. */
  readonly seen: boolean;
  /** An object had the address, or has it. */
  readonly wasHeld: boolean;
}

/**
 * The owners after matching them with the objects that list the address. Objects that were not admitted are added: the
 * claim tells which objects have the address, not which may have it.
 */
function settle(status: MacClaimStatus, known: Known, overdue: ReadonlySet<ClaimOwner>, since: string): Settled {
  const mayComeLate = (owner: ClaimOwner): boolean => isWaiting(status) && !overdue.has(owner);
  const stored = whichWereStored(status.owners, mayComeLate, known.created);
  const owners = status.owners.map((owner) => stored.get(owner) ?? owner);
  const isPending = (position: number): boolean => {
    const admitted = status.owners[position];
    return admitted !== undefined && mayComeLate(admitted) && !stored.has(admitted);
  };
  const unmatched = [...known.holders];
  const found: (Sighting | undefined)[] = [];
  let waiting = false;
  let seen = false;
  for (const [position, owner] of mostExactFirst(owners)) {
    const index =
      owner.uid !== undefined
        ? unmatched.findIndex((holder) => sameParty(owner, holder))
        : firstNew(unmatched, owner, owners, isPending(position));
    if (index >= 0) [found[position]] = unmatched.splice(index, 1);
  }
  const kept = owners.flatMap((owner, position) => {
    const holder = found[position];
    const mayFollow = isPending(position) && !isGone(owner, known.existing);
    if (holder === undefined && !mayFollow) return [];
    // What was made of the object may let go before an update of the object that was admitted is stored.
    if (mayFollow && holder?.confirms !== true) waiting = true;
    if (holder === undefined) return [owner];
    seen = true;
    return [refreshed(owner, holder, owners.length === 1)];
  });
  const added = unmatched
    .filter((holder) => holder.adoptable && !kept.some((owner) => isKnownAs(owner, holder)))
    .map((holder) => ownerOf({ ...holder, receiver: holder.receiver ?? isReceiver(holder, owners) }, since))
    // Who has no room comes in when another leaves: until then the others keep the claim.
    .slice(0, MAX_CLAIM_OWNERS - kept.length);
  const wasHeld = owners.some(({ uid }) => uid !== undefined);
  return { owners: [...kept, ...added], waiting, seen: seen || added.length > 0, wasHeld };
}

/** A prefix must not take the object that another owner was admitted for by its name. */
function mostExactFirst(owners: readonly ClaimOwner[]): [number, ClaimOwner][] {
  return [...owners.entries()].sort(([, a], [, b]) => exactness(b) - exactness(a));
}

/**
 * The owners without UID whose objects have been stored, each with what it was stored as. Such an object was created after
 * this version of the claim, which has an owner for every creation that was under way then. So one owner has come. Of those
 * that it may be it is one that is waited for no longer, or else any: as many are left as may still come.
 */
function whichWereStored(
  owners: readonly ClaimOwner[],
  mayComeLate: (owner: ClaimOwner) => boolean,
  created: readonly Party[],
): Map<ClaimOwner, ClaimOwner> {
  const left = [...created];
  const stored = new Map<ClaimOwner, ClaimOwner>();
  const exactFirst = mostExactFirst(owners).map(([, owner]) => owner);
  const isLate = (owner: ClaimOwner): boolean => !mayComeLate(owner);
  for (const owner of [...exactFirst.filter(isLate), ...exactFirst.filter(mayComeLate)]) {
    if (owner.uid !== undefined || mayStandForMore(owner, owners)) continue;
    const index = left.findIndex((object) => mayBe(owner, object));
    const [object] = index < 0 ? [] : left.splice(index, 1);
    const { generateName: _, ...known } = owner;
    if (object?.name !== undefined && object.uid !== undefined)
      stored.set(owner, { ...known, name: object.name, uid: object.uid });
  }
  return stored;
}

/** An instance does not tell whether its VM came in as a receiver; the entry that its VM was admitted with does. */
function isReceiver(holder: Sighting, owners: readonly ClaimOwner[]): boolean {
  return owners.some((owner) => owner.receiver === true && mayBe({ ...owner, uid: undefined }, holder));
}

/** By what an owner is known: its UID, else its name, else a prefix, the longer the better. */
function exactness({ uid, name, generateName = "" }: ClaimOwner): number {
  if (uid !== undefined) return Number.POSITIVE_INFINITY;
  return name === undefined ? generateName.length : Number.MAX_SAFE_INTEGER;
}

/** Of an object with a UID, an owner without one says nothing: it may be another of the same name. */
function isKnownAs(owner: ClaimOwner, holder: Sighting): boolean {
  return sameParty(owner, holder) && (owner.uid !== undefined || holder.uid === undefined);
}

/**
 * An owner without UID was admitted to be created: only an object that the claim does not know yet can be it, and while
 * its creation may be under way only one that came by being admitted. Where somebody else has the name for a moment, the
 * admitted object can still follow, and its address must be there. What has no UID either, a launcher pod whose VMI is
 * gone, says nothing about a creation that is under way.
 */
function firstNew(
  holders: readonly Sighting[],
  owner: ClaimOwner,
  owners: readonly ClaimOwner[],
  pending: boolean,
): number {
  if (pending && mayStandForMore(owner, owners)) return -1;
  return holders.findIndex((holder) => {
    if (!mayBe(owner, holder) || (pending && !holder.confirms)) return false;
    return holder.uid === undefined ? !pending : !owners.some(({ uid }) => uid === holder.uid);
  });
}

/** Creations of one name are listed up to a limit. Who stands for those that are not listed waits for all of them. */
function mayStandForMore(owner: ClaimOwner, owners: readonly ClaimOwner[]): boolean {
  const twins = owners.filter((other) => other.uid === undefined && sameParty(other, owner));
  return twins.length >= MAX_CREATIONS_OF_ONE_NAME;
}

/** An update that was admitted for an object can't be stored any more once that object is gone. */
function isGone(owner: ClaimOwner, existing: readonly Party[]): boolean {
  return owner.uid !== undefined && !existing.some(({ uid }) => uid === owner.uid);
}

/** Who came in as a receiver of a migration stays one, until it waits no longer and is alone with the address. */
function refreshed(owner: ClaimOwner, holder: Sighting, isAlone: boolean): ClaimOwner {
  if (!holder.adoptable) return owner;
  const receiver = holder.receiver === false && isAlone ? false : (holder.receiver ?? false) || owner.receiver;
  const merged = { ...holder, uid: holder.uid ?? owner.uid, name: holder.name ?? owner.name, receiver };
  const { starting, domains } = owner;
  return { ...ownerOf({ ...merged, domains }, owner.since), ...(starting === undefined ? {} : { starting }) };
}

function sameOwners(a: readonly ClaimOwner[], b: readonly ClaimOwner[]): boolean {
  return a.length === b.length && a.every((owner, index) => sameOwner(owner, b[index]));
}

function sameOwner(a: ClaimOwner, b: ClaimOwner | undefined): boolean {
  return (
    b !== undefined &&
    a.kind === b.kind &&
    a.namespace === b.namespace &&
    a.name === b.name &&
    a.uid === b.uid &&
    a.receiver === b.receiver &&
    a.interface === b.interface &&
    a.network === b.network
  );
}

/** Whether the caches already agree with the claim, so that no live read is needed. */
export function isSettled(claim: MACClaim | undefined, cached: Known, overdue: ReadonlySet<ClaimOwner>): boolean {
  const { holders, existing, created } = cached;
  if (claim === undefined || statusOf(claim).phase === "Quarantined")
    return !holders.some((holder) => holder.adoptable);
  const status = statusOf(claim);
  if (status.phase === "Pending") {
    const isQuiet = (owner: ClaimOwner): boolean =>
      !overdue.has(owner) &&
      !isGone(owner, existing) &&
      ![...holders, ...created].some((object) => mayBe(owner, object));
    return status.owners.length > 0 && status.owners.every(isQuiet);
  }
  const { owners, waiting, seen } = settle(status, cached, overdue, "");
  return seen && waiting === isWaiting(status) && sameOwners(owners, status.owners);
}
