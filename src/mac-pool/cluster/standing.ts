import type { Mac } from "../../api/mac.ts";
import type { ClaimOwner } from "../../api/mac-claim.ts";
import { isForbidden } from "../claims/explicit-address.ts";
import { mayBe, type ObjectReference, type ObservedOwner } from "../claims/owner.ts";
import type { Pool } from "../pools/pool.ts";
import type { PoolIndex } from "../pools/pool-index.ts";

/** An object in the cache that lists an address. */
export interface CachedOwner extends ObservedOwner {
  readonly managed: boolean;
}

/** What tells which addresses a namespace may have. */
export interface Tenants {
  readonly index: PoolIndex;
  readonly labelsOf: (namespace: string) => Readonly<Record<string, string>>;
}

/** The pool that serves a namespace; undefined where none does. */
export const poolOf = (namespace: string, { index, labelsOf }: Tenants): Pool | undefined =>
  index.poolFor(labelsOf(namespace));

/** Whether no pool keeps the objects of the namespace from an address of another one. */
export const mayHave = (mac: Mac, namespace: string, tenants: Tenants): boolean =>
  !isForbidden(mac, poolOf(namespace, tenants), tenants.index);

/**
 * Whether an object that lists an address has a say about its claim (docs/decisions/099): one that the claim names, and one
 * that the pool manages and that may ask for the address. A pod that it does not manage has none in any case, and one that
 * calls itself a launcher only as what the claim names. `owners`: of the claim.
 */
export function hasSay(mac: Mac, owner: CachedOwner, owners: readonly ClaimOwner[], tenants: Tenants): boolean {
  if (owner.kind === "Pod" && !owner.managed) return false;
  if (owner.managed && !owner.byLauncher && mayHave(mac, owner.namespace, tenants)) return true;
  return owners.some((each) => isNamedBy(each, owner));
}

/** A VMI that its VM has left behind has the name of that VM. */
const isNamedBy = (owner: ClaimOwner, object: ObjectReference): boolean =>
  owner.kind === "Pod" || object.kind === "Pod" ? mayBe(owner, object) : mayBe({ ...owner, kind: object.kind }, object);
