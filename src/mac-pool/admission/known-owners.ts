import { type ClaimOwner, isNamesake } from "../../api/mac-claim.ts";
import { type InterfaceOwner, mayBe, type ObservedOwner } from "../claims/owner.ts";

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
 * launcher of this VM; the VM itself tells whether it waits. `isAnothers`: another pool's, which the object may not ask for. It may
 * have been stored with it unreviewed, so only a claim tells.
 */
export function hasAlready(
  requester: InterfaceOwner,
  { owners, objectsListing, isStored }: Known,
  isAnothers = false,
): boolean {
  const isNamed = (owner: ClaimOwner): boolean => isNamesake(owner, requester) || (isStored && mayBe(owner, requester));
  const lists = ({ receiver, onlyLists, ...observed }: ObservedOwner): boolean =>
    isNamesake(observed, requester) && receiver !== undefined && !onlyLists;
  return (isStored && !isAnothers) || owners.some(isNamed) || objectsListing.some(lists);
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
