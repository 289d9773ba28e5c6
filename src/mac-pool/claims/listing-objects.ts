import { type ClaimOwner, isNamesake, MAX_CLAIM_OWNERS, type MacClaimStatus } from "../../api/mac-claim.ts";
import { allocated } from "./claim.ts";
import {
  type InterfaceOwner,
  mayBe,
  mostExactFirst,
  type ObjectReference,
  type ObservedOwner,
  ownerOf,
} from "./owner.ts";

/**
 * The status with the objects that list the address among its owners. The claim may not name them: it was deleted by hand,
 * or they were written without the pool, or exist since before it. A prefix stands for one of them; `taken` stands for none.
 */
export function withObjectsListing(
  status: MacClaimStatus,
  objectsListing: readonly ObservedOwner[],
  nowMs: number,
  taken?: ClaimOwner,
): MacClaimStatus {
  const owners = status.phase === "Quarantined" ? [] : status.owners;
  const prefixes = new Set(owners.filter((owner) => owner.name === undefined && owner !== taken));
  const unknown: ObservedOwner[] = [];
  for (const [index, observed] of objectsListing.entries()) {
    const isKnown = objectsListing.findIndex((other) => isNamesake(other, observed)) < index;
    if (isKnown || owners.some((owner) => owner.name !== undefined && mayBe(owner, observed))) continue;
    const prefix = longestPrefix([...prefixes], observed);
    if (prefix === undefined) unknown.push(observed);
    else prefixes.delete(prefix);
  }
  if (unknown.length === 0) return status;
  const since = new Date(nowMs).toISOString();
  const all = [...owners, ...unknown.map((observed) => ownerOf(observed, since))];
  return allocated(all.slice(0, MAX_CLAIM_OWNERS));
}

/** Of the prefixes that the API server may have completed to the name of the object, the one that fits least others. */
export function longestPrefix(owners: readonly ClaimOwner[], object: ObjectReference): ClaimOwner | undefined {
  return mostExactFirst(owners).find((owner) => owner.name === undefined && mayBe(owner, object));
}

/** An interface, as far as it tells which layer-2 domains it may be in. */
export type NetworkPosition = Pick<InterfaceOwner, "namespace" | "network" | "domains">;

/** Where an owner may be: as the claim says, and as the objects say that list the address for it. */
export function positionsOf(owner: ClaimOwner, objectsListing: readonly ObservedOwner[]): readonly NetworkPosition[] {
  return [owner, ...objectsListing.filter((observed) => mayBe(owner, observed))];
}

/** The status of an address without a claim, before the objects that list it are added. */
export const UNCLAIMED: MacClaimStatus = allocated([]);
