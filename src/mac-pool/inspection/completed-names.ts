import type { ClaimOwner, MACClaim } from "../../api/mac-claim.ts";
import { statusOf } from "../core/claim.ts";
import { mayBe, type Party } from "../core/party.ts";

/**
 * The claim with the names that the API server has made of prefixes, as far as objects list the address: nothing writes them
 * into it. The same claim where there is nothing to complete.
 */
export function withCompletedNames(claim: MACClaim, listers: () => readonly Party[]): MACClaim {
  const status = statusOf(claim);
  if (status.owners.every(({ name }) => name !== undefined)) return claim;
  const taken = new Set(status.owners.flatMap(({ name }) => name ?? []));
  const owners = status.owners.map((owner): ClaimOwner => {
    if (owner.name !== undefined) return owner;
    const found = listers().find((lister) => mayBe(owner, lister) && !taken.has(lister.name ?? ""));
    if (found?.name === undefined) return owner;
    taken.add(found.name);
    const { generateName: _, ...known } = owner;
    return { ...known, name: found.name };
  });
  return { ...claim, status: { ...status, owners } };
}
