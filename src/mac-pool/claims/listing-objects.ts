import { formatMac, type Mac } from "../../api/mac.ts";
import { type ClaimOwner, isNamesake, MAX_CLAIM_OWNERS, type MacClaimStatus } from "../../api/mac-claim.ts";
import { allocated } from "./claim.ts";
import { describeOwners, type NamedText, namedText } from "./named-text.ts";
import {
  type InterfaceOwner,
  mayBe,
  mostExactFirst,
  type ObjectReference,
  type ObservedOwner,
  ownerOf,
} from "./owner.ts";
import { quote } from "./refusals.ts";

/**
 * The status with the objects that list the address among its owners. The claim may not name them: it was deleted by hand,
 * or they were written without the pool, or exist since before it. A prefix stands for one of them; `taken` stands for none.
 * Left out is what is no owner by itself: an object that nobody reviewed may list any address, and a pod call itself a launcher of
 * any VM.
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
  const owning = objectsListing.filter(({ countsAsOwner }) => countsAsOwner);
  for (const [index, observed] of owning.entries()) {
    const isKnown = owning.findIndex((other) => isNamesake(other, observed)) < index;
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

/** What follows the names of objects that list an address and are nobody's reason to refuse it. */
export const NOT_GIVEN = "to which the MAC pool did not give it";

/** Admission warning about objects that only list the address; none where there are none. */
export function objectsBeside(mac: Mac, interfaceName: string, objectsListing: readonly ObservedOwner[]): NamedText[] {
  const beside = objectsListing.filter(isBeside).map((object) => ownerOf(object, ""));
  if (beside.length === 0) return [];
  const what = `MAC ${formatMac(mac)} of interface ${quote(interfaceName)} is also listed by`;
  const consequence = `${NOT_GIVEN}: they disturb each other when they run on the same network.`;
  return [namedText(beside, (describe) => `${what} ${describeOwners(beside, describe)}, ${consequence}`)];
}

/** A launcher stands for a VM that nobody has to have. */
export const isBeside = ({ onlyLists, byLauncher }: ObservedOwner): boolean => onlyLists === true && !byLauncher;

/** Whether the address is kept from the pool's choice only as long as the pool has another. */
export const isLastChoice = (objectsListing: readonly ObservedOwner[]): boolean =>
  objectsListing.every(({ onlyLists, byLauncher }) => onlyLists || byLauncher);
