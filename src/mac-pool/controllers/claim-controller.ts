/**
 * The life of claims, run by the elected leader. It writes a claim when its owners change: into quarantine when live reads find
 * no object that lists the address, and deletes it after that. It makes claims for objects that have none, by what its caches
 * show (docs/decisions/036).
 * Safety does not depend on the leader: every write carries the version of the claim that was read before the objects,
 * so a leader that lost its lease, or was stopped for an hour, changes nothing that is newer than what it knows.
 */

import type { Registry } from "prom-client";
import { type Mac, macOfClaimName } from "../../api/mac.ts";
import type { MACClaim } from "../../api/mac-claim.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/client/api-error.ts";
import type { Clock } from "../../kube/clock.ts";
import { Controller, type ReconcileContext, type ReconcileResult } from "../../kube/informer/controller.ts";
import type { Log } from "../../kube/log.ts";
import { NamespaceQuota } from "../admission/namespace-quota.ts";
import { statusOf } from "../claims/claim.ts";
import type { ClaimStore } from "../claims/claim-store.ts";
import { isSettled, type LifecycleStep, nextStep } from "../claims/lifecycle.ts";
import { describeObject, mayBe, type ObjectReference, type ObservedOwner } from "../claims/owner.ts";
import type { Caches } from "../cluster/caches.ts";
import type { Admission } from "../cluster/pending-admissions.ts";
import { type CachedOwner, poolOf } from "../cluster/standing.ts";
import { distinctOwnersSeen } from "../objects/listed-macs.ts";
import { type Adoption, adoptionOf, unclaimedIn } from "./adoption.ts";
import { ClaimTriggers } from "./claim-triggers.ts";
import { whileFollowing } from "./following.ts";
import { QuarantineTimers, quarantineOf } from "./quarantine-timers.ts";

const CONCURRENCY = 24;
/** Nobody waits for the release of an address, and thousands can fall due at once. */
const RELEASES = 2;
/** How often every claim is reconciled again, in case an event was missed. */
const SWEEP_MS = 600_000;
/** How often claims are looked for whose objects have not come in time. */
const OVERDUE_CHECK_MS = 5_000;
/** How soon a release that waits for a live object is checked again, in case its event never comes. */
const HELD_ELSEWHERE_MS = 30_000;

export interface ClaimControllerOptions {
  readonly caches: Caches;
  readonly store: ClaimStore;
  /** Live reads: which of the objects have the address of the claim now. */
  readonly liveOwners: (
    mac: Mac,
    claim: MACClaim,
    refs: readonly ObjectReference[],
  ) => Promise<readonly ObservedOwner[]>;
  /** Whether what was admitted has been stored since, as far as the caches know. */
  readonly hasCome: (admission: Admission) => boolean;
  readonly clock: Clock;
  /** For the delays between tries. */
  readonly random?: () => number;
  readonly log: Log;
  readonly metrics: Registry;
  /** How far it is with the claims that are missing when it begins. */
  readonly adoption: Adoption;
  /** Called for every step that was written. */
  readonly onStep: (step: LifecycleStep, before: MACClaim | undefined) => void;
}

export class ClaimController {
  readonly #options: ClaimControllerOptions;
  readonly #controller: Controller;
  /** Claims whose address no object in the caches lists, by their owners. */
  readonly #releases: Controller;
  readonly #left = new Map<string, Set<string>>();
  readonly #triggers: ClaimTriggers;
  readonly #quarantines: QuarantineTimers;
  /** Holds what it adopts without having been asked to the limit of requests. */
  readonly #quota: NamespaceQuota;

  constructor(options: ClaimControllerOptions) {
    this.#options = options;
    const { clock, log, metrics, random } = options;
    const { index } = options.caches;
    this.#quarantines = new QuarantineTimers(index, clock);
    this.#quota = new NamespaceQuota({ index, clock, addressesOfInterface: () => [] });
    const shared = { clock, log, metrics, ...(random && { random }) };
    this.#controller = new Controller({
      ...shared,
      name: "claims",
      concurrency: CONCURRENCY,
      reconcile: (key, context) => this.#reconcile(key, context, true),
    });
    this.#releases = new Controller({
      ...shared,
      name: "claim-releases",
      concurrency: RELEASES,
      reconcile: (owner, context) => this.#release(owner, context),
    });
    const { caches, adoption } = options;
    const adopt = (): void => {
      if (caches.hasSynced) adoption.begin(unclaimedIn(caches));
    };
    this.#triggers = new ClaimTriggers(caches, (claim) => this.#controller.enqueue(claim), adopt);
  }

  /** Runs until the signal aborts, then resolves once nothing is being written any more. Can be run once. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches, adoption } = this.#options;
    const stops = this.#triggers.start();
    await whileFollowing(caches, signal, stops, () => {
      adoption.begin(unclaimedIn(caches));
      const tasks = [this.#every(SWEEP_MS, () => this.#triggers.all(), signal)];
      tasks.push(
        this.#every(OVERDUE_CHECK_MS, () => this.#triggers.overdue(this.#options.clock.monotonicMs()), signal),
      );
      return Promise.all([this.#controller.run(signal), this.#releases.run(signal), ...tasks]);
    });
  }

  async #every(ms: number, action: () => void, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(ms, signal);
      action();
    }
  }

  /**
   * Uses the claim in the cache: its version existed before the live reads begin. If there is a newer one, the write fails
   * and the event of the newer one brings the key back. A claim whose address no object lists is left to `releases`, unless
   * it comes from there.
   */
  async #reconcile(key: string, { signal, log }: ReconcileContext, mayLeave: boolean): Promise<ReconcileResult> {
    const { caches, clock, hasCome, adoption } = this.#options;
    const mac = macOfClaimName(key);
    if (mac === undefined) return {};
    const claim = caches.claims.get(key);
    const quarantineLeftMs = this.#quarantines.leftMs(key, claim, mac);
    if (claim === undefined) return this.#adopt(key, mac, { signal, log });
    const observedOwners = caches.claimants(mac);
    adoption.settle(key);
    const nowMs = clock.monotonicMs();
    const admission = caches.admissions.of(mac, nowMs);
    const isAwaited = admission !== undefined && !hasCome(admission);
    const laterMs = quarantineLeftMs || (isAwaited ? caches.admissions.leftMs(mac, nowMs) : undefined);
    if (quarantineLeftMs !== 0 && isSettled(claim, distinctOwnersSeen(observedOwners), isAwaited)) {
      if (isAwaited) await this.#confirm(admission, claim, observedOwners);
      return { requeueAfterMs: laterMs };
    }
    if (mayLeave && observedOwners.length === 0) {
      const [owner] = statusOf(claim).owners;
      const name = owner === undefined ? key : describeObject(owner);
      this.#leave(key, name);
      this.#releases.enqueue(name);
      return {};
    }

    const refs = [...statusOf(claim).owners, ...observedOwners];
    const live = refs.length === 0 ? [] : await this.#options.liveOwners(mac, claim, refs);
    const step = nextStep({
      mac,
      claim,
      observedOwners: live,
      isAwaited,
      // Its object may have been gone before the claim was known.
      wasNeverListed: !caches.admissions.hasArrival(mac) && caches.index.pending.wasNeverListed(mac),
      isQuarantineOver: quarantineLeftMs === 0,
      nowMs: clock.now(),
      quarantineMs: quarantineOf(caches.index, claim, mac),
      adoptAs: undefined,
    });
    if (step.action === "none") return { requeueAfterMs: laterMs ?? HELD_ELSEWHERE_MS };
    await this.#write(step, claim, signal, log);
    return {};
  }

  #leave(claim: string, owner: string): void {
    this.#left.set(owner, (this.#left.get(owner) ?? new Set()).add(claim));
  }

  /** The claims of one owner are reconciled together, so that it is read once for all of them. */
  async #release(owner: string, context: ReconcileContext): Promise<void> {
    const claims = [...(this.#left.get(owner) ?? [])];
    this.#left.delete(owner);
    const outcomes = await Promise.allSettled(claims.map((claim) => this.#reconcile(claim, context, false)));
    for (const [index, outcome] of outcomes.entries()) {
      const claim = claims[index] ?? "";
      if (outcome.status === "rejected") this.#leave(claim, owner);
      else if (outcome.value.requeueAfterMs !== undefined)
        this.#controller.enqueueAfter(claim, outcome.value.requeueAfterMs);
    }
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }

  /** Whether the pod that was admitted has come, so that its address need not wait once it is gone. */
  async #confirm(admission: Admission, claim: MACClaim, observedOwners: readonly ObservedOwner[]): Promise<void> {
    const { caches, liveOwners } = this.#options;
    const { mac, owner, isAlone, wasListed } = admission;
    if (owner?.kind !== "Pod" || !isAlone || wasListed) return;
    const seen = observedOwners.find((observed) => mayBe(owner, observed));
    const [observed] = seen === undefined ? [] : await liveOwners(mac, claim, [seen]);
    if (observed !== undefined) caches.admissions.confirm(admission, observed);
  }

  /** What lists an address without a claim gets one, by what the caches show. */
  async #adopt(key: string, mac: Mac, { signal, log }: ReconcileContext): Promise<ReconcileResult> {
    const { caches, clock, adoption } = this.#options;
    const adopted = adoptionOf(mac, caches.observedOwners(mac), caches);
    const places = adopted?.origin === "observed" ? this.#placesFor(mac, adopted.owners) : undefined;
    const owners = adopted?.owners.filter(({ namespace }) => places?.has(namespace) ?? true) ?? [];
    const nothing = { isAwaited: false, wasNeverListed: false, isQuarantineOver: false, quarantineMs: 0 };
    const input = { mac, claim: undefined, observedOwners: distinctOwnersSeen(owners), nowMs: clock.now() };
    const step = nextStep({ ...input, adoptAs: adopted, ...nothing });
    let isMade = false;
    try {
      isMade = step.action !== "none" && (await this.#write(step, undefined, signal, log));
    } finally {
      for (const done of places?.values() ?? []) done(isMade ? [mac] : []);
    }
    // Not when its event is here: that waits behind thousands of claims that are not made yet.
    if (step.action === "none" || isMade) adoption.settle(key);
    return {};
  }

  /** The namespaces of these owners that may have one more address, each with what ends its wait for it. */
  #placesFor(mac: Mac, owners: readonly CachedOwner[]): ReadonlyMap<string, (macs: readonly Mac[]) => void> {
    const places = new Map<string, (macs: readonly Mac[]) => void>();
    for (const owner of owners) {
      const { namespace, interface: nic, network } = owner;
      if (places.has(namespace)) continue;
      const wantedInterfaces = [{ interface: nic, network, mac, had: true }];
      const pool = poolOf(namespace, this.#options.caches);
      const place = this.#quota.enter({ ref: owner, pool, wantedInterfaces, listed: new Set([mac]), dryRun: false });
      if ("done" in place) places.set(namespace, place.done);
    }
    return places;
  }

  /** Whether nobody else was first. */
  async #write(
    step: Exclude<LifecycleStep, { action: "none" }>,
    before: MACClaim | undefined,
    signal: AbortSignal,
    log: Log,
  ): Promise<boolean> {
    const { store, onStep } = this.#options;
    try {
      if (step.action === "create") await store.create(step.claim, signal);
      else if (step.action === "update") await store.update(step.claim, signal);
      else await store.remove(step.claim, signal);
    } catch (error) {
      if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
      log.debug({ step: step.action }, "another writer changed the claim first");
      return false;
    }
    const { phase, owner } = statusOf(step.claim);
    log.info({ mac: step.claim.spec.mac, step: step.action, phase, owner }, "claim changed");
    onStep(step, before);
    return true;
  }
}
