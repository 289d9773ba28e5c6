import type { Mac } from "../../api/mac.ts";
import { type ClaimOwner, isNamesake, type MACClaim, MAX_CLAIM_OWNERS } from "../../api/mac-claim.ts";
import { allocated, newClaim, statusOf, withStatus } from "./claim.ts";
import { mayBe, mostExactFirst, type ObservedOwner, ownerOf } from "./owner.ts";

/**
 * Decides the next step of a claim from live reads. Pure. The controller reads the claim before the objects, and writes the
 * result with the claim's resourceVersion. A decision on old facts ends in a conflict.
 *
 * An owner is known by its kind, namespace and name: as long as an object of that name lists the address, or may be stored
 * with it, nothing is written. So an object that takes the name of another takes its claim over, which is right while it lists
 * the address. An address may stay claimed longer than it has to, never shorter.
 */

export interface LifecycleInput {
  readonly mac: Mac;
  readonly claim: MACClaim | undefined;
  /** Objects that list the address now, by live reads; for a claim that is to be made, as the caches show. */
  readonly observedOwners: readonly ObservedOwner[];
  /** Whoever was admitted last may still be stored: those who are not seen stay owners. */
  readonly isAwaited: boolean;
  /** This process has seen everything since the claim was made, and no object with the address. */
  readonly wasNeverListed: boolean;
  /** The quarantine is over. */
  readonly isQuarantineOver: boolean;
  readonly nowMs: number;
  readonly quarantineMs: number;
  /** How a claim is made for owners that have none; undefined: none is made. */
  readonly adoptAs: { readonly pool: string | undefined; readonly origin: "explicit" | "observed" } | undefined;
}

export type LifecycleStep =
  | { readonly action: "none" }
  | { readonly action: "create" | "update"; readonly claim: MACClaim }
  /** `isLeak`: of an object that was admitted and never came. */
  | { readonly action: "delete"; readonly claim: MACClaim; readonly isLeak: boolean };

const NONE: LifecycleStep = { action: "none" };

export function nextStep(input: LifecycleInput): LifecycleStep {
  const { claim, observedOwners, mac, nowMs } = input;
  const adopted = (): readonly ClaimOwner[] => ownersAfter([], observedOwners, false, nowMs);
  if (claim === undefined) {
    const owners = input.adoptAs === undefined ? [] : adopted();
    if (input.adoptAs === undefined || owners.length === 0) return NONE;
    return { action: "create", claim: newClaim(mac, input.adoptAs, allocated(owners)) };
  }
  const status = statusOf(claim);
  if (status.phase === "Quarantined") {
    const owners = adopted();
    if (owners.length > 0) return { action: "update", claim: ownedBy(claim, owners) };
    return input.isQuarantineOver && observedOwners.length === 0 ? { action: "delete", claim, isLeak: false } : NONE;
  }
  const owners = ownersAfter(status.owners, observedOwners, input.isAwaited, nowMs);
  if (owners.length > 0 || input.isAwaited) {
    if (owners === status.owners) return NONE;
    return { action: "update", claim: ownedBy(claim, owners) };
  }
  if (input.wasNeverListed || input.quarantineMs === 0)
    return { action: "delete", claim, isLeak: input.wasNeverListed };
  const until = new Date(nowMs + input.quarantineMs).toISOString();
  return { action: "update", claim: withStatus(claim, { phase: "Quarantined", owners: [], until }) };
}

/** The pool chose the address for the first owner. Whoever has it after that one has asked for it. */
function ownedBy(claim: MACClaim, owners: readonly ClaimOwner[]): MACClaim {
  const [first, given] = [owners[0], statusOf(claim).owners[0]];
  const isTaken = first !== undefined && (given === undefined || !mayBe(given, first));
  const isNoMoreGiven = claim.spec.origin === "automatic" && isTaken;
  return withStatus(claim, allocated(owners), isNoMoreGiven ? "explicit" : undefined);
}

/** Whether the caches agree with the claim, so that no live read is needed. */
export function isSettled(claim: MACClaim, observedOwners: readonly ObservedOwner[], isAwaited: boolean): boolean {
  const status = statusOf(claim);
  if (status.phase === "Quarantined") return !observedOwners.some(({ countsAsOwner }) => countsAsOwner);
  const owners = ownersAfter(status.owners, observedOwners, isAwaited, 0);
  return (owners.length > 0 || isAwaited) && owners === status.owners;
}

/**
 * The owners that stay, and the objects that list the address and are none: the same owners where nothing has to be written.
 * Objects are added, admitted or not: the claim tells which objects have the address, not which may have it.
 */
function ownersAfter(
  owners: readonly ClaimOwner[],
  observedOwners: readonly ObservedOwner[],
  isAwaited: boolean,
  nowMs: number,
): readonly ClaimOwner[] {
  const unmatched = [...observedOwners];
  const found = new Map<ClaimOwner, ObservedOwner>();
  for (const owner of mostExactFirst(owners)) {
    const fitting = unmatched.filter((observed) => mayBe(owner, observed));
    const [best] = fitting.filter(({ countsAsOwner }) => countsAsOwner).concat(fitting);
    if (best === undefined) continue;
    found.set(owner, best);
    // All objects of a name are one owner. A prefix fits several, which are each their own.
    for (const observed of owner.name === undefined ? [best] : fitting)
      unmatched.splice(unmatched.indexOf(observed), 1);
  }
  const completed: ObservedOwner[] = [];
  const kept = owners.flatMap((owner) => {
    const observed = found.get(owner);
    if (observed === undefined) return isAwaited ? [owner] : [];
    if (!observed.countsAsOwner) return [owner];
    if (!isAwaited) return [refreshed(owner, observed, owners.length === 1)];
    // Another object of that prefix may be on its way.
    if (owner.name === undefined) completed.push(observed);
    // So may an update that moves the interface to the network that the claim names.
    return [owner.name !== undefined && observed.receiver ? { ...owner, receiver: true } : owner];
  });
  const added = withObserved(kept, unmatched, nowMs);
  return sameOwners(added, owners) ? owners : withObserved(added, completed, nowMs);
}

/** Who has no room comes in when another leaves: until then the others keep the claim. */
function withObserved(
  owners: readonly ClaimOwner[],
  observedOwners: readonly ObservedOwner[],
  nowMs: number,
): readonly ClaimOwner[] {
  const since = new Date(nowMs).toISOString();
  const all = [...owners];
  for (const observed of observedOwners) {
    const isKnown = all.some((owner) => isNamesake(owner, observed));
    if (observed.countsAsOwner && !isKnown && all.length < MAX_CLAIM_OWNERS) all.push(ownerOf(observed, since));
  }
  return all;
}

/** Who came in as a receiver of a migration stays one, until it waits no longer and is alone with the address. */
function refreshed(owner: ClaimOwner, observed: ObservedOwner, isAlone: boolean): ClaimOwner {
  const isReceiver =
    observed.receiver === false && isAlone ? false : (observed.receiver ?? false) || (owner.receiver ?? false);
  const { receiver: _, ...known } = owner;
  const place = ownerOf(observed, owner.since);
  const { name, interface: nic, network } = place;
  return {
    ...known,
    ...(name === undefined ? {} : { name }),
    interface: nic,
    ...(network === undefined ? {} : { network }),
    ...(isReceiver && { receiver: true }),
  };
}

/** A name that completes a prefix is no reason to write the claim. */
function sameOwners(a: readonly ClaimOwner[], b: readonly ClaimOwner[]): boolean {
  const isSame = (one: ClaimOwner, other: ClaimOwner | undefined): boolean =>
    other !== undefined &&
    mayBe(other, one) &&
    (one.receiver ?? false) === (other.receiver ?? false) &&
    one.interface === other.interface &&
    one.network === other.network;
  return a.length === b.length && a.every((owner, index) => isSame(owner, b[index]));
}
