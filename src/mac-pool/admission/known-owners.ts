import { type ClaimOwner, isNamesake } from "../../api/mac-claim.ts";
import type { InterfaceOwner, ObservedOwner } from "../claims/owner.ts";

/** Who is known to have an address. */
export interface Known {
  readonly owners: readonly ClaimOwner[];
  readonly objectsListing: readonly ObservedOwner[];
  /** Whether the object has the address as the API server has it stored. */
  readonly isStored: boolean;
}

/**
 * Whether a policy about addresses leaves the address to an object: one that has it already keeps it, and what arrives by live
 * migration brings it along. Having waited for a migration is not having it.
 */
export function mayKeep(requester: InterfaceOwner, { owners, objectsListing, isStored }: Known): boolean {
  return (
    requester.receiver === true ||
    isStored ||
    owners.some((owner) => isNamesake(owner, requester) && !owner.receiver) ||
    objectsListing.some((observed) => isNamesake(observed, requester) && observed.receiver === false)
  );
}
