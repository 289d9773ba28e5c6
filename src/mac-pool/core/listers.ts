import { type ClaimOwner, isNamesake, MAX_CLAIM_OWNERS, type MacClaimStatus } from "../../api/mac-claim.ts";
import { allocated } from "./claim.ts";
import { type Holder, mayBe, ownerOf, type Sighting } from "./party.ts";

/**
 * The status with the objects that list the address among its owners. The claim may not name them: it was deleted by hand,
 * or they were written without the pool, or exist since before it.
 */
export function withListers(status: MacClaimStatus, listers: readonly Sighting[], nowMs: number): MacClaimStatus {
  const owners = status.phase === "Quarantined" ? [] : status.owners;
  const unknown: Sighting[] = [];
  for (const lister of listers) {
    const isOwner = owners.some((owner) => mayBe(owner, lister));
    if (!isOwner && !unknown.some((other) => isNamesake(other, lister))) unknown.push(lister);
  }
  if (unknown.length === 0) return status;
  const since = new Date(nowMs).toISOString();
  const all = [...owners, ...unknown.map((lister) => ownerOf(lister, since))];
  return allocated(all.slice(0, MAX_CLAIM_OWNERS));
}

/** An interface, as far as it tells which layer-2 domains it may be in. */
export type Place = Pick<Holder, "namespace" | "network" | "domains">;

/** Where an owner may be: as the claim says, and as the objects say that list the address for it. */
export function placesOf(owner: ClaimOwner, listers: readonly Sighting[]): readonly Place[] {
  return [owner, ...listers.filter((lister) => mayBe(owner, lister))];
}

/** The status of an address without a claim, before its listers are added. */
export const UNCLAIMED: MacClaimStatus = allocated([]);
