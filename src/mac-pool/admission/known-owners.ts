import { type ClaimOwner, isNamesake } from "../../api/mac-claim.ts";
import type { InterfaceOwner, ObservedOwner } from "../claims/owner.ts";

/** Who is known to have an address. */
export interface Known {
  readonly owners: readonly ClaimOwner[];
  readonly objectsListing: readonly ObservedOwner[];
  /** Whether the object lists the address as the API server has it stored. */
  readonly isStored: boolean;
  /** It waits for a live migration no longer: what it lists, it may have had for that only. */
  readonly judgedAnew: boolean;
}

/**
 * Whether an object has the address already, also one that waits for a live migration. A pod may say of anybody that it is a
 * launcher of this VM; the VM itself tells whether it waits.
 */
export function hasAlready(requester: InterfaceOwner, { owners, objectsListing, isStored }: Known): boolean {
  return (
    isStored ||
    owners.some((owner) => isNamesake(owner, requester)) ||
    objectsListing.some((observed) => isNamesake(observed, requester) && observed.receiver !== undefined)
  );
}

/** Whether it has the address by more than waiting for a live migration. */
export function hasInOwnRight(requester: InterfaceOwner, known: Known): boolean {
  const { owners, objectsListing, isStored, judgedAnew } = known;
  return hasAlready(requester, {
    ...known,
    owners: owners.filter(({ receiver }) => !receiver),
    objectsListing: objectsListing.filter(({ receiver }) => !receiver),
    isStored: isStored && !judgedAnew,
  });
}
