import type { Mac } from "../../api/mac.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/client/api-error.ts";
import { statusOf, withStatus } from "../claims/claim.ts";
import { MAX_ALLOCATION_TRIES, MAX_LISTED_DRAWS, RESERVATION_MS } from "../claims/limits.ts";
import { isLastChoice, objectsBeside } from "../claims/listing-objects.ts";
import type { NamedText } from "../claims/named-text.ts";
import { busy, emptyPool, full, noPool, type Refusal } from "../claims/refusals.ts";
import type { Pool } from "../pools/pool.ts";
import {
  type ClaimRequest,
  claimOf,
  excludedAddresses,
  heldAddresses,
  type InterfaceRequest,
  type Outcome,
  refuse,
  statusFor,
  timesOf,
} from "./claim-request.ts";
import { RepeatedUpdates, type RepeatedUpdatesOptions } from "./repeated-updates.ts";

export interface AllocationOptions extends RepeatedUpdatesOptions {
  readonly random: () => number;
}

/** Gives an interface any free address: the index proposes one, and the creation of its claim decides. */
export class Allocation {
  readonly #options: AllocationOptions;
  readonly #updates: RepeatedUpdates;
  /** Until when an address may be reserved although it is free; by the monotonic clock. */
  #doubtUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: AllocationOptions) {
    this.#options = options;
    this.#updates = new RepeatedUpdates(options);
  }

  /** `shown`: what a dry run shows, one for each interface. */
  async allocate(
    request: ClaimRequest,
    wanted: InterfaceRequest,
    shown: Mac[],
    signal: AbortSignal | undefined,
  ): Promise<Outcome> {
    const { clock } = this.#options;
    const { pool } = request;
    const { namespace } = request.ref;
    if (pool === undefined) return refuse(noPool(namespace));
    if (pool.capacity === 0) return refuse(emptyPool(namespace, pool.name));
    if (request.dryRun) {
      const mac = shown.shift();
      return mac === undefined
        ? refuse(this.#full(pool))
        : { ok: true, mac, warnings: this.#objectsBeside(mac, wanted) };
    }
    try {
      const repeated = isUpdate(request) ? await this.#updates.claim(request, wanted, pool, signal) : undefined;
      return repeated ?? (await this.#takeFree(request, pool, wanted, signal));
    } catch (error) {
      this.#doubtUntilMs = clock.monotonicMs() + RESERVATION_MS;
      throw error;
    }
  }

  async #takeFree(request: ClaimRequest, pool: Pool, wanted: InterfaceRequest, signal?: AbortSignal): Promise<Outcome> {
    const { store } = this.#options;
    for (let attempt = 0; attempt < MAX_ALLOCATION_TRIES; attempt++) {
      const mac = this.#draw(request, pool);
      if (mac === undefined) {
        const reused = await this.#reuseQuarantined(request, pool, wanted, signal);
        if (reused === undefined) continue;
        return reused;
      }
      this.#updates.choose(request, wanted, mac);
      try {
        const claim = await store.create(claimOf(request, wanted, mac, timesOf(this.#options)), signal);
        return { ok: true, mac, warnings: this.#objectsBeside(mac, wanted), written: { claim, before: undefined } };
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    }
    return refuse(busy(`MACPool ${pool.name}`));
  }

  /**
   * Reserves a free address that no object lists; where there is none, and none rests, one that is listed and
   * that nobody owns. Undefined when there is neither. A listed address without a claim, which the leader is about to adopt, stays
   * reserved: no request looks at it again soon.
   */
  #draw({ listed }: ClaimRequest, pool: Pool): Mac | undefined {
    const { clock, index, objectsListing, random } = this.#options;
    const nowMs = clock.monotonicMs();
    const ofThisObject: Mac[] = [];
    const lastChoices: Mac[] = [];
    let free: Mac | undefined;
    for (let draws = 0; free === undefined; draws++) {
      const mac = index.draw(pool, random(), nowMs);
      if (mac === undefined) break;
      index.reserve(mac, nowMs);
      const listing = objectsListing(mac);
      // Only kept back from this draw: whether the object gets it is decided by its own claim.
      if (listed.has(mac)) ofThisObject.push(mac);
      else if (listing.length === 0) free = mac;
      else if (isLastChoice(listing)) lastChoices.push(mac);
      if (free === undefined && draws >= MAX_LISTED_DRAWS) {
        this.#doubtUntilMs = nowMs + RESERVATION_MS;
        break;
      }
    }
    const isExcluded = excludedAddresses(listed, this.#options);
    if (free === undefined && pool.oldestQuarantined(isExcluded) === undefined) free = lastChoices.pop();
    for (const mac of [...ofThisObject, ...lastChoices]) index.unreserve(mac);
    return free;
  }

  #objectsBeside(mac: Mac, wanted: InterfaceRequest): NamedText[] {
    return objectsBeside(mac, wanted.interface, this.#options.objectsListing(mac));
  }

  /**
   * Nothing can be drawn. Addresses of failed creations stay reserved for a while, because their claims may exist, and so do
   * those that a draw has not looked at yet: until then the pool is busy and not full.
   */
  #nothingFree(pool: Pool): Outcome {
    const isDoubtful = pool.counts.free > 0 && this.#options.clock.monotonicMs() <= this.#doubtUntilMs;
    return refuse(isDoubtful ? busy(`MACPool ${pool.name}`) : this.#full(pool));
  }

  #full(pool: Pool): Refusal {
    const { clock, index } = this.#options;
    const oldestMs = index.pending.oldestMs((mac) => pool.has(mac));
    const nextFreeMs = oldestMs === undefined ? undefined : oldestMs + index.pendingMs - clock.monotonicMs();
    return full(pool.name, pool.counts, nextFreeMs);
  }

  /**
   * Nothing is free: the address that has rested longest is better than none. Undefined when those that seemed to rest have been
   * taken: others may have come free meanwhile.
   */
  async #reuseQuarantined(
    request: ClaimRequest,
    pool: Pool,
    wanted: InterfaceRequest,
    signal?: AbortSignal,
  ): Promise<Outcome | undefined> {
    const { clock, index, store } = this.#options;
    const isExcluded = excludedAddresses(request.listed, this.#options);
    const isHeld = heldAddresses(request.listed, this.#options);
    for (let attempt = 0; attempt < MAX_ALLOCATION_TRIES; attempt++) {
      const mac = pool.takeOldestQuarantined(isExcluded) ?? pool.takeOldestQuarantined(isHeld);
      if (mac === undefined) return attempt > 0 ? undefined : this.#nothingFree(pool);
      const times = timesOf(this.#options);
      try {
        const before = await store.read(mac, signal);
        if (before === undefined) {
          const claim = await store.create(claimOf(request, wanted, mac, times), signal);
          return { ok: true, mac, warnings: this.#objectsBeside(mac, wanted), written: { claim, before: undefined } };
        }
        if (statusOf(before).phase !== "Quarantined") continue;
        const status = statusFor(request, wanted, times);
        const claim = await store.update(withStatus(before, status, "automatic"), signal);
        index.reserve(mac, clock.monotonicMs());
        return { ok: true, mac, warnings: this.#objectsBeside(mac, wanted), written: { claim, before } };
      } catch (error) {
        if (isConflict(error) || isNotFound(error) || isAlreadyExists(error)) continue;
        index.offerQuarantined(mac);
        throw error;
      }
    }
    return refuse(busy(`MACPool ${pool.name}`));
  }
}

/** What is created has no UID yet, and is reviewed once. */
const isUpdate = ({ ref }: ClaimRequest): boolean => ref.uid !== undefined;
