import { MAX_CLAIM_OWNERS, type MacClaimStatus } from "../../api/mac-claim.ts";
import { mayBe, ownerOf, type Sighting } from "./party.ts";

/**
 * The status with the objects that list the address among its owners. The claim may not name them: it was deleted by hand,
 * or they were written without the pool, or exist since before it.
 */
export function withListers(status: MacClaimStatus, listers: readonly Sighting[], nowMs: number): MacClaimStatus {
  const owners = status.phase === "Quarantined" ? [] : status.owners;
  const unknown = listers.filter((lister) => !owners.some((owner) => mayBe(owner, lister)));
  if (unknown.length === 0) return status;
  const since = new Date(nowMs).toISOString();
  const all = [...owners, ...unknown.map((lister) => ownerOf(lister, since))];
  return { ...status, phase: "Bound", owners: all.slice(0, MAX_CLAIM_OWNERS) };
}

/** The status of an address without a claim, before its listers are added. */
export const UNCLAIMED: MacClaimStatus = { phase: "Bound", owners: [] };
