/**
 * The ledger: turns what admission wants into claims that are durable before it answers. It is used by the webhooks of
 * every replica; the controllers change claims on their own, through the same ClaimStore. Memory (PoolIndex) only
 * proposes addresses: whether one is given out is decided by the API server, write by write.
 */

import type { Mac } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/client/api-error.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import { newClaim, statusOf, withStatus } from "../core/claim.ts";
import { decideGrant, pendingStatus } from "../core/grant.ts";
import { isoTime } from "../core/iso-time.ts";
import { MAX_ALLOCATION_TRIES, MAX_CLAIM_TRIES, RESERVATION_MS } from "../core/limits.ts";
import { type Holder, ownerOf, type Party } from "../core/party.ts";
import type { Pool } from "../core/pool.ts";
import type { PoolIndex } from "../core/pool-index.ts";
import { busy, full, type MacField, noPool, type Refusal } from "../core/refusals.ts";
import type { ClaimStore } from "./claim-store.ts";
import { pendingLimitReached } from "./pending-limit.ts";
import { plausibleMacs } from "./plausible-macs.ts";

/** One interface's wish: this address, or any free one. */
export interface Wish {
  readonly interface: string;
  readonly network: string | undefined;
  readonly mac: Mac | undefined;
}

export interface ClaimRequest {
  readonly party: Party;
  readonly wishes: readonly Wish[];
  /**
   * Every address that the object lists. None of them is chosen for another of its interfaces: the claim would take both
   * for the same owner's.
   */
  readonly listed: ReadonlySet<Mac>;
  readonly pool: Pool | undefined;
  /** A VM that waits for a live migration: sharing is no conflict. */
  readonly receiver: boolean;
  readonly field: MacField;
  /** Everything is checked and nothing is written. */
  readonly dryRun: boolean;
}

export type ClaimResult =
  /** `macs` in the order of the wishes. */
  | { readonly ok: true; readonly macs: readonly Mac[]; readonly warnings: readonly string[] }
  | { readonly ok: false; readonly refusal: Refusal };

interface Granted {
  readonly ok: true;
  readonly mac: Mac;
  readonly warning?: string | undefined;
  /** What was written, and what it replaced; absent on a dry run. */
  readonly written?: { readonly claim: MACClaim; readonly before: MACClaim | undefined };
}

interface Refused {
  readonly ok: false;
  readonly refusal: Refusal;
}

type Outcome = Granted | Refused;

/** The API server did not say what became of the claim, or refused the write. */
interface Failed {
  readonly ok: false;
  readonly error: unknown;
}

export interface LedgerOptions {
  readonly store: ClaimStore;
  readonly index: PoolIndex;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** Told of every address that a request was given for good. */
  readonly onGranted: (kind: Party["kind"], origin: "automatic" | "explicit") => void;
}

export class ClaimLedger {
  readonly #options: LedgerOptions;
  /** Until when a creation without an answer may have left an address reserved. */
  #doubtUntilMs = 0;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /**
   * Claims all wishes or none. Throws what the API server's refusal or a broken connection throws, after giving back
   * what was claimed; what can't be given back then ends at its deadline.
   */
  async claim(request: ClaimRequest, signal?: AbortSignal): Promise<ClaimResult> {
    const limit = pendingLimitReached(this.#options.index, request);
    if (limit !== undefined) return { ok: false, refusal: limit };
    const plausible = request.dryRun ? plausibleMacs(this.#options, request) : [];
    const attempts = request.wishes.map((wish) => this.#attempt(request, wish, plausible, signal));
    const granted: Granted[] = [];
    let refused: Refused | undefined;
    let failure: Failed | undefined;
    for (const attempt of attempts) {
      const outcome = await attempt;
      if (outcome.ok) granted.push(outcome);
      else if ("refusal" in outcome) refused ??= outcome;
      else failure ??= outcome;
    }
    if (granted.length === request.wishes.length) {
      if (!request.dryRun) this.#countGrants(request);
      const warnings = granted.flatMap(({ warning }) => (warning === undefined ? [] : [warning]));
      return { ok: true, macs: granted.map(({ mac }) => mac), warnings };
    }
    await Promise.all(granted.map((grant) => this.#giveBack(grant)));
    if (refused !== undefined) return refused;
    throw failure?.error;
  }

  /** Never rejects: the other wishes' claims have to be given back then. */
  #attempt(
    request: ClaimRequest,
    wish: Wish,
    plausible: Mac[],
    signal: AbortSignal | undefined,
  ): Promise<Outcome | Failed> {
    const granted =
      wish.mac === undefined
        ? this.#allocate(request, wish, plausible, signal)
        : this.#claimExplicit(request, wish, wish.mac, signal);
    return granted.catch(failed);
  }

  #countGrants({ wishes, party }: ClaimRequest): void {
    for (const { mac } of wishes) this.#options.onGranted(party.kind, mac === undefined ? "automatic" : "explicit");
  }

  async #allocate(
    request: ClaimRequest,
    wish: Wish,
    plausible: Mac[],
    signal: AbortSignal | undefined,
  ): Promise<Outcome> {
    const { index, clock, random, store } = this.#options;
    const { pool } = request;
    if (pool === undefined || pool.counts.capacity === 0) return refuse(noPool(request.party.namespace));
    if (request.dryRun) {
      const mac = plausible.shift();
      return mac === undefined ? refuse(full(pool.name, pool.counts.capacity)) : { ok: true, mac };
    }
    const passedOver: Mac[] = [];
    for (let attempt = 0; attempt < MAX_ALLOCATION_TRIES; attempt++) {
      const nowMs = clock.now();
      const mac = index.draw(pool, random(), nowMs);
      if (mac === undefined) {
        for (const other of passedOver.splice(0)) index.unreserve(other);
        return this.#reuseQuarantined(request, pool, wish, signal);
      }
      index.reserve(mac, nowMs);
      if (request.listed.has(mac)) {
        // Only kept back from this draw: whether the object gets it is decided by its own claim.
        passedOver.push(mac);
        continue;
      }
      if (passedOver.length > 0) for (const other of passedOver.splice(0)) index.unreserve(other);
      try {
        const claim = await store.create(this.#pendingClaim(request, wish, mac, "automatic", nowMs), signal);
        return { ok: true, mac, written: { claim, before: undefined } };
      } catch (error) {
        if (isAlreadyExists(error)) continue;
        this.#doubtUntilMs = clock.now() + RESERVATION_MS;
        throw error;
      }
    }
    return refuse(busy(`MACPool ${pool.name}`));
  }

  /**
   * Nothing can be drawn. While reservations are left of creations that failed, nobody knows whether their addresses are
   * in use: they will be drawn again, or their claims be seen.
   */
  #nothingFree({ name, counts: { free, capacity } }: Pool): Outcome {
    const isDoubtful = free > 0 && this.#options.clock.now() <= this.#doubtUntilMs;
    return refuse(isDoubtful ? busy(`MACPool ${name}`) : full(name, capacity));
  }

  /** Nothing is free: the address that has rested longest is better than none. */
  async #reuseQuarantined(request: ClaimRequest, pool: Pool, wish: Wish, signal?: AbortSignal): Promise<Outcome> {
    const { clock, index, store } = this.#options;
    for (let attempt = 0; attempt < MAX_ALLOCATION_TRIES; attempt++) {
      const mac = pool.takeOldestQuarantined(request.listed);
      if (mac === undefined) return this.#nothingFree(pool);
      const nowMs = clock.now();
      try {
        const before = await store.read(mac, signal);
        if (before === undefined) {
          const claim = await store.create(this.#pendingClaim(request, wish, mac, "automatic", nowMs), signal);
          return { ok: true, mac, written: { claim, before: undefined } };
        }
        if (statusOf(before).phase !== "Quarantined") continue;
        const owner = ownerOf(holderOf(request, wish), isoTime(nowMs));
        const status = pendingStatus([owner], nowMs + index.pendingMs, statusOf(before).until);
        const claim = await store.update(withStatus(before, status, "automatic"), signal);
        index.reserve(mac, clock.now());
        return { ok: true, mac, written: { claim, before } };
      } catch (error) {
        if (isConflict(error) || isNotFound(error) || isAlreadyExists(error)) continue;
        index.offerQuarantined(mac);
        throw error;
      }
    }
    return refuse(busy(`MACPool ${pool.name}`));
  }

  async #claimExplicit(request: ClaimRequest, wish: Wish, mac: Mac, signal?: AbortSignal): Promise<Outcome> {
    const { clock, store, index } = this.#options;
    const holder = holderOf(request, wish);
    const policy = request.pool?.settings.conflictPolicy ?? "Deny";
    for (let attempt = 0; attempt < MAX_CLAIM_TRIES; attempt++) {
      try {
        const before = attempt > 0 || request.dryRun ? await store.read(mac, signal) : undefined;
        if (before === undefined) {
          if (request.dryRun) return { ok: true, mac };
          const claim = await store.create(this.#pendingClaim(request, wish, mac, "explicit", clock.now()), signal);
          return { ok: true, mac, written: { claim, before } };
        }
        const { receiver, field } = request;
        const decision = decideGrant(
          before,
          { mac, holder, policy, receiver, field, pendingMs: index.pendingMs },
          clock.now(),
        );
        if (!decision.ok) return decision;
        if (request.dryRun) return { ok: true, mac, warning: decision.warning };
        const claim = await store.update(decision.claim, signal);
        return { ok: true, mac, warning: decision.warning, written: { claim, before } };
      } catch (error) {
        if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    return refuse(busy(`the claim of interface "${wish.interface}"`));
  }

  #pendingClaim(
    request: ClaimRequest,
    wish: Wish,
    mac: Mac,
    origin: "automatic" | "explicit",
    nowMs: number,
  ): MACClaim {
    const owner = ownerOf(holderOf(request, wish), isoTime(nowMs));
    return newClaim(
      mac,
      { pool: request.pool?.name, origin },
      pendingStatus([owner], nowMs + this.#options.index.pendingMs),
    );
  }

  /** Undoes one grant unless somebody has written since. Failing is harmless: the deadline does the same later. */
  async #giveBack({ mac, written }: Granted): Promise<void> {
    if (written === undefined) return;
    const { store, index, log } = this.#options;
    const { claim, before } = written;
    try {
      if (before === undefined) await store.remove(claim);
      else await store.update({ ...before, metadata: { ...before.metadata, ...versionOf(claim) } });
      index.unreserve(mac);
    } catch (error) {
      log.debug({ err: error, claim: claim.metadata.name }, "a claim could not be given back and ends at its deadline");
    }
  }
}

function holderOf({ party }: ClaimRequest, wish: Wish): Holder {
  const { kind, namespace, name, generateName, uid } = party;
  return { kind, namespace, name, generateName, uid, interface: wish.interface, network: wish.network };
}

function versionOf(claim: MACClaim): { resourceVersion: string } {
  return { resourceVersion: claim.metadata.resourceVersion ?? "" };
}

function failed(error: unknown): Failed {
  return { ok: false, error };
}

function refuse(refusal: Refusal): Refused {
  return { ok: false, refusal };
}
