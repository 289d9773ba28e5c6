import type { ClaimOwner } from "../../api/mac-claim.ts";
import type { KnownOwner } from "./pool-backend.ts";
import type { Place, PoolObjects } from "./pool-objects.ts";

/** The owners, and where each runs. */
export function placed(objects: PoolObjects, owners: readonly ClaimOwner[]): Promise<readonly KnownOwner[]> {
  return Promise.all(owners.map(async (owner) => ({ ...owner, ...placeView(await objects.place(owner)) })));
}

export function placeView(place: Place | null | undefined): Pick<KnownOwner, "node" | "pod" | "notRunningYet"> {
  return place === null ? { node: null } : { ...place };
}
