import type { Mac } from "../../api/mac.ts";
import { type ClaimOwner, distinctOwners, isNamesake, type MACClaim, MAX_CLAIM_OWNERS } from "../../api/mac-claim.ts";
import { type ConflictPolicy, DEFAULT_CONFLICT_POLICY } from "../../api/mac-pool.ts";
import { admitted, statusOf, withStatus } from "./claim.ts";
import { areApart, joined, UNKNOWN_DOMAIN } from "./layer2-domain.ts";
import { longestPrefix, type NetworkPosition, positionsOf, withObjectsListing } from "./listing-objects.ts";
import type { NamedText } from "./named-text.ts";
import { type InterfaceOwner, type ObservedOwner, ownerOf } from "./owner.ts";
import { conflict, type MacField, type Refusal, sharedTooOften, sharedWarning } from "./refusals.ts";

/** A request for one address, as admission makes it. */
export interface GrantRequest {
  readonly mac: Mac;
  readonly requester: InterfaceOwner;
  /** The object lists the address already, as the API server has it stored. */
  readonly had: boolean;
  /** Policy of the pool that serves the one that asks. */
  readonly policy: ConflictPolicy;
  /** Policy of the pool that serves a namespace. */
  readonly policyIn: (namespace: string) => ConflictPolicy | undefined;
  readonly field: MacField;
  /** How long an object that was admitted is waited for. */
  readonly pendingMs: number;
  /** Whoever was admitted last may still be stored. */
  readonly isAwaited: boolean;
  /** Objects that list the address, once for each network, as far as the caches know; without the one that asks. */
  readonly objectsListing: readonly ObservedOwner[];
  /**
   * The layer-2 domains that an owner may be in, undefined for any. Absent where the pool of the one that asks does not
   * tell networks apart.
   */
  readonly domainsOf?: ((owner: NetworkPosition) => readonly string[] | undefined) | undefined;
}

export type GrantDecision =
  | { readonly ok: true; readonly claim: MACClaim; readonly warning?: NamedText }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Decides about an address that already has a claim. A grant is always a claim to write under its resourceVersion, even if
 * the owner does not change: the write stops a release that is under way.
 *
 * An object under the name of an owner is that owner, also a creation: the one that was seen is gone when the new one gets stored.
 *
 * Towards other owners the policy decides: the strictest of the own pool's and theirs, also for a namesake of an owner. It does
 * not apply to the object that lists the address already and to a VM that waits for a migration, which has the
 * addresses of the VM that it will be. The claim remembers that: once the VM waits no longer, it does not have the address
 * already. A repeated request gets the warning again.
 *
 * Where the pools of both say so, an owner whose network can't meet the one that is asked for is no other owner.
 *
 * Objects that list the address count as owners although the claim does not name them, and are written into the claim.
 */
export function decideGrant(claim: MACClaim, request: GrantRequest, nowMs: number): GrantDecision {
  const { requester, mac } = request;
  const completed = completedBy(request, statusOf(claim).owners);
  const status = withObjectsListing(statusOf(claim), request.objectsListing, nowMs, completed);
  const sinceMs = sinceFor(status.owners, nowMs);
  const owner = ownerOf(requester, new Date(sinceMs).toISOString());
  const granted = (owners: readonly ClaimOwner[]) => admitted(owners, sinceMs, request.pendingMs);
  if (status.phase === "Quarantined" || status.owners.length === 0) {
    return { ok: true, claim: withStatus(claim, granted([owner]), "explicit") };
  }
  const isThis = (known: ClaimOwner): boolean => known === completed || isNamesake(known, requester);
  const others = distinctOwners(status.owners.filter((known) => !isThis(known) && !isApart(known, request)));
  const wasOwner = status.owners.some((known) => isThis(known) && !known.receiver && !hasMoved(known, request));
  const hasIt = request.had && wasOwner;
  const policy = strictest([request.policy, ...others.map(({ namespace }) => request.policyIn(namespace))]);
  if (others.length > 0 && !hasIt && !requester.receiver && !mayShare(policy, requester)) {
    return { ok: false, refusal: conflict(mac, requester.interface, others, request) };
  }
  // Where somebody is awaited it may be who was admitted with that prefix, and this object another one of that name.
  const isReplaced = (known: ClaimOwner): boolean => isThis(known) && !(known === completed && request.isAwaited);
  const owners = status.owners.filter((known) => !isReplaced(known));
  const place = status.owners.findIndex(isReplaced);
  owners.splice(place < 0 ? owners.length : place, 0, renewed(status.owners.filter(isThis), owner, request));
  if (owners.length > MAX_CLAIM_OWNERS) {
    return { ok: false, refusal: sharedTooOften(mac, requester.interface, request.field) };
  }
  const written = withStatus(claim, granted(owners));
  if (others.length === 0 || requester.receiver) return { ok: true, claim: written };
  const warning = sharedWarning(mac, requester.interface, others, policy === "DenyRunning");
  return { ok: true, claim: written, warning };
}

/** The prefix that stands for the object that has the address. Others that fit stand for other admissions, each for its own. */
function completedBy({ had, requester }: GrantRequest, owners: readonly ClaimOwner[]): ClaimOwner | undefined {
  return had && !owners.some((known) => isNamesake(known, requester)) ? longestPrefix(owners, requester) : undefined;
}

/** Whether no network that the owner may be in can meet the one that is asked for. */
function isApart(known: ClaimOwner, { domainsOf, requester, objectsListing }: GrantRequest): boolean {
  if (domainsOf === undefined) return false;
  return positionsOf(known, objectsListing).every((place) => areApart(domainsOf(place), requester.domains));
}

/** Whether an owner asks for the address in a domain in which it did not have it. */
function hasMoved(known: ClaimOwner, { domainsOf, requester }: GrantRequest): boolean {
  if (domainsOf === undefined || known.network === requester.network) return false;
  const had = domainsOf(known) ?? [];
  return !(requester.domains ?? [UNKNOWN_DOMAIN]).every((domain) => had.includes(domain));
}

/** What was made of the owner may still be where it was before: its domains are those from then and the new one. */
function domainsAfter(known: ClaimOwner, { domainsOf, requester }: GrantRequest): { readonly domains?: string[] } {
  const stays = domainsOf === undefined || known.network === requester.network;
  const before = stays ? known.domains : (domainsOf(known) ?? [UNKNOWN_DOMAIN]);
  if (before === undefined || requester.domains === undefined)
    return before === undefined ? {} : { domains: [...before] };
  return { domains: [...joined(before, requester.domains)] };
}

/**
 * The owner with the domains of those that it was known as. It was judged where it is let in now; where it may have come in as a
 * receiver it was not, and it stays one as long as it may be there.
 */
function placedAfter(knownAs: readonly ClaimOwner[], owner: ClaimOwner, request: GrantRequest): ClaimOwner {
  const { requester, domainsOf } = request;
  const domains = joined(
    knownAs.flatMap((known) => domainsAfter(known, request).domains ?? []),
    [],
  );
  if (domains.length === 0) return owner;
  const isJudged = domainsOf === undefined || domains.every((domain) => requester.domains?.includes(domain) ?? true);
  const isReceiver = !isJudged && knownAs.some(({ receiver }) => receiver);
  return { ...owner, domains: [...domains], ...(isReceiver && { receiver: true }) };
}

/** The owner as it is known from now on: `knownAs` are the entries that stand for it. */
function renewed(knownAs: readonly ClaimOwner[], owner: ClaimOwner, request: GrantRequest): ClaimOwner {
  if (knownAs.length === 0) return owner;
  const starting = knownAs.find((known) => known.starting !== undefined)?.starting;
  return { ...placedAfter(knownAs, owner, request), ...(starting === undefined ? {} : { starting }) };
}

/**
 * The time of an admission: later than that of any other owner, whatever the clock of its replica said. The wait for an
 * owner is counted anew when this changes.
 */
function sinceFor(owners: readonly ClaimOwner[], nowMs: number): number {
  return Math.max(nowMs, ...owners.map(({ since }) => (Date.parse(since) || 0) + 1));
}

/** Between several pools the strictest policy decides: a namespace of one may not take what another keeps for its own. */
function strictest(policies: readonly (ConflictPolicy | undefined)[]): ConflictPolicy {
  return STRICTEST_FIRST.find((policy) => policies.includes(policy)) ?? DEFAULT_CONFLICT_POLICY;
}

const STRICTEST_FIRST: readonly ConflictPolicy[] = ["Deny", "DenyRunning", "Warn"];

/** Under DenyRunning a VM may exist beside the owner, as long as it does not run; whatever runs by existing may not. */
function mayShare(policy: ConflictPolicy, requester: InterfaceOwner): boolean {
  return policy === "Warn" || (policy === "DenyRunning" && requester.kind === "VirtualMachine");
}
