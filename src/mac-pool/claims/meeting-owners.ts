import { type ClaimOwner, distinctOwners, isNamesake } from "../../api/mac-claim.ts";
import { areApart } from "./layer2-domain.ts";

/**
 * Those of the owners of an address that are on a network with another of them, or may be. `domainsOf`: the layer-2 domains that
 * an owner may be in, undefined for any.
 */
export function meetingOwners(
  owners: readonly ClaimOwner[],
  domainsOf: (owner: ClaimOwner) => readonly string[] | undefined,
): readonly ClaimOwner[] {
  const meets = (one: ClaimOwner): boolean =>
    owners.some((other) => !isNamesake(one, other) && !areApart(domainsOf(one), domainsOf(other)));
  return distinctOwners(owners.filter(meets));
}
