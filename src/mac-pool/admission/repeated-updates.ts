import type { Mac } from "../../api/mac.ts";
import type { ClaimOwner, MACClaim } from "../../api/mac-claim.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/client/api-error.ts";
import type { Clock } from "../../kube/clock.ts";
import { statusOf, withStatus } from "../claims/claim.ts";
import type { ClaimStore } from "../claims/claim-store.ts";
import { decideGrant } from "../claims/grant.ts";
import { MAX_ALLOCATION_TRIES, RESERVATION_MS } from "../claims/limits.ts";
import type { ObjectReference, ObservedOwner } from "../claims/owner.ts";
import type { Pool } from "../pools/pool.ts";
import type { PoolIndex } from "../pools/pool-index.ts";
import {
  type ClaimRequest,
  claimOf,
  excludedAddresses,
  type InterfaceRequest,
  type Outcome,
  ownerFor,
  statusFor,
  timesOf,
  updateKey,
} from "./claim-request.ts";

/** Of half a kilobyte at most. A review of an update whose address is forgotten gets another one. */
const MAX_CHOSEN = 20_000;

export interface RepeatedUpdatesOptions {
  readonly store: ClaimStore;
  readonly index: PoolIndex;
  readonly clock: Clock;
  readonly objectsListing: (mac: Mac) => readonly ObservedOwner[];
  /** Addresses that the interface of a VM has, or may get by an update that is under way, as far as the caches know. */
  readonly addressesOfInterface: (vm: ObjectReference, interfaceName: string) => readonly Mac[];
}

/**
 * Gives one interface of one object one address, however often and by how many replicas its update is reviewed: the API
 * server reviews an update anew each time that another was stored before it. Only one of them is stored on top of an
 * object that does not list the address, so they may all have the same.
 */
export class RepeatedUpdates {
  readonly #options: RepeatedUpdatesOptions;
  /** Interface of an object -> the last review of it that is under way. */
  readonly #last = new Map<string, Promise<unknown>>();
  /** Interface of an object -> the address that this replica chose for it, oldest first; its end by the monotonic clock. */
  readonly #chosen = new Map<string, { readonly mac: Mac; readonly endsAtMs: number }>();

  constructor(options: RepeatedUpdatesOptions) {
    this.#options = options;
  }

  /** For the update of an object with a UID. Undefined where any free address is as good. */
  async claim(
    request: ClaimRequest,
    wanted: InterfaceRequest,
    pool: Pool,
    signal?: AbortSignal,
  ): Promise<Outcome | undefined> {
    const key = updateKey(request.ref, wanted);
    // Each writes the claim, so that none can give back what others go by: side by side they would only meet.
    const claimNow = (): Promise<Outcome | undefined> => this.#claimNow(request, wanted, pool, signal);
    const claimed = this.#last.get(key)?.then(claimNow, claimNow) ?? claimNow();
    this.#last.set(key, claimed);
    try {
      return await claimed;
    } finally {
      if (this.#last.get(key) === claimed) this.#last.delete(key);
    }
  }

  async #claimNow(
    request: ClaimRequest,
    wanted: InterfaceRequest,
    pool: Pool,
    signal?: AbortSignal,
  ): Promise<Outcome | undefined> {
    const known = this.#known(request, wanted, pool);
    const fresh = known === undefined ? this.#near(request, wanted, pool) : undefined;
    const mac = known ?? fresh ?? this.#quarantined(request, wanted, pool);
    if (mac === undefined) return undefined;
    const { store, index } = this.#options;
    try {
      for (let attempt = 0; attempt < MAX_ALLOCATION_TRIES; attempt++) {
        const before = attempt > 0 || fresh === undefined ? await store.read(mac, signal) : undefined;
        const claim = this.#granted(before, request, wanted, mac);
        if (claim === undefined) break;
        const written = await unlessOvertaken(
          before === undefined ? store.create(claim, signal) : store.update(claim, signal),
        );
        if (written !== undefined) return { ok: true, mac, written: { claim: written, before } };
      }
    } catch (error) {
      index.offerQuarantined(mac);
      throw error;
    }
    this.#chosen.delete(updateKey(request.ref, wanted));
    return undefined;
  }

  /** The address is chosen for the interface. Other reviews of the update are to have the same. */
  choose(request: ClaimRequest, wanted: InterfaceRequest, mac: Mac): void {
    if (request.ref.uid === undefined) return;
    const nowMs = this.#options.clock.monotonicMs();
    for (const [key, { endsAtMs }] of this.#chosen) {
      if (endsAtMs > nowMs && this.#chosen.size < MAX_CHOSEN) break;
      this.#chosen.delete(key);
    }
    const key = updateKey(request.ref, wanted);
    this.#chosen.delete(key);
    this.#chosen.set(key, { mac, endsAtMs: nowMs + RESERVATION_MS });
  }

  #known(request: ClaimRequest, wanted: InterfaceRequest, pool: Pool): Mac | undefined {
    const { addressesOfInterface, index, objectsListing } = this.#options;
    const { ref, listed } = request;
    const chosen = this.#chosen.get(updateKey(request.ref, wanted))?.mac;
    return [...(chosen === undefined ? [] : [chosen]), ...addressesOfInterface(ref, wanted.interface)].find(
      (mac) =>
        pool.has(mac) &&
        !listed.has(mac) &&
        !index.hosts.has(mac) &&
        objectsListing(mac).every(({ uid }) => uid === ref.uid),
    );
  }

  /** Replicas that do not know of each other yet begin to look at the same point. */
  #near(request: ClaimRequest, wanted: InterfaceRequest, pool: Pool): Mac | undefined {
    const { index, clock, objectsListing } = this.#options;
    const mac = index.near(pool, pointOf(updateKey(request.ref, wanted)), clock.monotonicMs());
    if (mac === undefined || request.listed.has(mac) || objectsListing(mac).length > 0) return undefined;
    index.reserve(mac, clock.monotonicMs());
    this.choose(request, wanted, mac);
    return mac;
  }

  /** Nothing is free: the address that has rested longest, which is the same for all replicas. */
  #quarantined(request: ClaimRequest, wanted: InterfaceRequest, pool: Pool): Mac | undefined {
    const { index, clock } = this.#options;
    if (index.draw(pool, 0, clock.monotonicMs()) !== undefined) return undefined;
    const mac = pool.takeOldestQuarantined(excludedAddresses(request.listed, this.#options));
    if (mac !== undefined) this.choose(request, wanted, mac);
    return mac;
  }

  /** The claim as it has to be written; undefined where somebody else has it. */
  #granted(
    before: MACClaim | undefined,
    request: ClaimRequest,
    wanted: InterfaceRequest,
    mac: Mac,
  ): MACClaim | undefined {
    const times = timesOf(this.#options);
    if (before === undefined) return claimOf(request, wanted, mac, times);
    const { phase, owners } = statusOf(before);
    if (phase === "Quarantined") return withStatus(before, statusFor(request, wanted, times), "automatic");
    const isOwn = ({ uid, ...owner }: ClaimOwner): boolean =>
      uid === request.ref.uid && owner.interface === wanted.interface;
    if (owners.length === 0 || !owners.every(isOwn)) return undefined;
    const asked = {
      mac,
      requester: ownerFor(request, wanted),
      had: false,
      policy: "Deny",
      policyIn: () => undefined,
    } as const;
    const { field } = request;
    const known = { field, pendingMs: times.pendingMs, isAwaited: true, objectsListing: [] };
    const decision = decideGrant(before, { ...asked, ...known }, times.nowMs);
    return decision.ok ? decision.claim : undefined;
  }
}

/** Undefined where another writer was first. */
async function unlessOvertaken(write: Promise<MACClaim>): Promise<MACClaim | undefined> {
  try {
    return await write;
  } catch (error) {
    if (isAlreadyExists(error) || isConflict(error) || isNotFound(error)) return undefined;
    throw error;
  }
}

/** FNV-1a as a fraction: the same point for the same interface, different ones for different interfaces. */
function pointOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  return (hash >>> 0) / 2 ** 32;
}
