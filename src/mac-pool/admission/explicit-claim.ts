import type { Mac } from "../../api/mac.ts";
import { isNamesake, type MACClaim } from "../../api/mac-claim.ts";
import type { ConflictPolicy } from "../../api/mac-pool.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/client/api-error.ts";
import type { Clock } from "../../kube/clock.ts";
import { newClaim, statusOf } from "../claims/claim.ts";
import type { ClaimStore } from "../claims/claim-store.ts";
import { isForbidden, refusalOfExplicit } from "../claims/explicit-address.ts";
import { decideGrant } from "../claims/grant.ts";
import { MAX_CLAIM_TRIES } from "../claims/limits.ts";
import { objectsBeside, UNCLAIMED } from "../claims/listing-objects.ts";
import type { InterfaceOwner, ObservedOwner } from "../claims/owner.ts";
import { busy, type Refusal } from "../claims/refusals.ts";
import type { Networks } from "../cluster/network-domains.ts";
import type { PoolIndex } from "../pools/pool-index.ts";
import {
  type ClaimRequest,
  claimOf,
  type InterfaceRequest,
  isPerNetwork,
  type Outcome,
  ownerFor,
  refuse,
  timesOf,
} from "./claim-request.ts";
import { judgeHosts } from "./host-verdict.ts";
import { hasAlready } from "./known-owners.ts";

interface ExplicitOptions {
  readonly store: ClaimStore;
  readonly index: PoolIndex;
  readonly clock: Clock;
  readonly policyIn: (namespace: string) => ConflictPolicy | undefined;
  readonly objectsListing: (mac: Mac) => readonly ObservedOwner[];
  readonly isAwaited: (claim: MACClaim) => boolean;
  readonly networks: Networks;
}

/** Why `explicitAddresses` of its pool keeps the object from an address that it asks for and does not have; of the first such one. */
export async function refusalByPolicy(
  { index, store, objectsListing }: ExplicitOptions,
  request: ClaimRequest,
  signal?: AbortSignal,
): Promise<Refusal | undefined> {
  const judge = async (wanted: InterfaceRequest): Promise<Refusal | undefined> => {
    const { mac, had } = wanted;
    if (mac === undefined) return undefined;
    const { pool, field, judgedAnew } = request;
    const requester = ownerFor(request, wanted);
    const refusal = refusalOfExplicit({ mac, ...requester, field, pool }, index);
    if (refusal === undefined) return undefined;
    const claim = await store.read(mac, signal);
    const owners = claim === undefined ? [] : statusOf(claim).owners;
    const known = { owners, objectsListing: objectsListing(mac), isStored: had, judgedAnew };
    return hasAlready(requester, known, isForbidden(mac, pool, index)) ? undefined : refusal;
  };
  return (await Promise.all(request.wantedInterfaces.map(judge))).find((refusal) => refusal !== undefined);
}

/**
 * Claims the address that an interface asks for, and that `refusalByPolicy` lets it have; whether it is shared with other owners is for `decideGrant`. An object that lists
 * the address is another owner even if there is no claim: the pool may have been switched on a moment ago. Of what only lists it
 * a warning tells.
 */
export async function claimExplicit(
  { clock, store, index, policyIn, objectsListing: objectsListingOf, isAwaited, networks }: ExplicitOptions,
  request: ClaimRequest,
  wanted: InterfaceRequest,
  mac: Mac,
  signal?: AbortSignal,
): Promise<Outcome> {
  const requester = ownerFor(request, wanted);
  const policy = request.pool?.settings.conflictPolicy ?? "Deny";
  const allListing = objectsListingOf(mac);
  const objectsListing = allListing.filter((observed) => !isSame(observed, requester));
  const aboutOthers = objectsBeside(mac, wanted.interface, objectsListing);
  const hosts = index.hosts.at(mac);
  for (let attempt = 0; attempt < MAX_CLAIM_TRIES; attempt++) {
    try {
      const mayExist =
        attempt > 0 ||
        request.dryRun ||
        objectsListing.length > 0 ||
        hosts.length > 0 ||
        index.claim(mac) !== undefined;
      const before = mayExist ? await store.read(mac, signal) : undefined;
      const owners = before === undefined ? [] : statusOf(before).owners;
      const { judgedAnew } = request;
      const known = { owners, objectsListing: allListing, isStored: wanted.had, judgedAnew };
      const verdict = judgeHosts(request, mac, requester, hosts, known);
      if (!verdict.ok) return verdict;
      const others = [...(verdict.warning === undefined ? [] : [verdict.warning]), ...aboutOthers];
      if (before === undefined && objectsListing.length === 0) {
        if (request.dryRun) return { ok: true, mac, warnings: others };
        const claim = await store.create(claimOf(request, wanted, mac, timesOf({ clock, index })), signal);
        return { ok: true, mac, warnings: others, written: { claim, before } };
      }
      const asked = { mac, requester, had: wanted.had, policy, policyIn, field: request.field, objectsListing };
      const found = before ?? newClaim(mac, { pool: request.pool?.name, origin: "explicit" }, UNCLAIMED);
      const domainsOf = isPerNetwork(request)
        ? await networks.of([...statusOf(found).owners, ...objectsListing], signal)
        : undefined;
      const decision = decideGrant(
        found,
        { ...asked, pendingMs: index.pendingMs, isAwaited: isAwaited(found), domainsOf },
        clock.now(),
      );
      if (!decision.ok) return decision;
      const warnings = decision.warning === undefined ? others : [decision.warning, ...others];
      if (request.dryRun) return { ok: true, mac, warnings };
      const claim =
        before === undefined ? await store.create(decision.claim, signal) : await store.update(decision.claim, signal);
      return { ok: true, mac, warnings, written: { claim, before } };
    } catch (error) {
      if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
    }
  }
  return refuse(busy(`the claim of interface "${wanted.interface}"`));
}

/** A launcher pod without its instance tells the name of its VM or VMI, and not which of both it was. */
function isSame(observed: ObservedOwner, requester: InterfaceOwner): boolean {
  const isNamed = observed.namespace === requester.namespace && observed.name === requester.name;
  return isNamesake(observed, requester) || (observed.uid === undefined && isNamed);
}
