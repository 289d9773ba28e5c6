/**
 * The life of claims, run by the elected leader: binds a claim once its owner is seen, releases it when live reads find
 * nobody that lists the address, lets it rest, deletes it; makes claims for objects that have none. The leader is for
 * economy only: every write carries the version of the claim that was read before the objects were, so a leader that
 * has lost its lease, or was stopped for an hour, changes nothing that is newer than what it knows.
 */

import { claimName, type Mac, macOfClaimName } from "../../api/mac.ts";
import type { ClaimOwner, MACClaim } from "../../api/mac-claim.ts";
import { DEFAULT_QUARANTINE_SECONDS } from "../../api/mac-pool.ts";
import { isAlreadyExists, isConflict, isNotFound } from "../../kube/client/api-error.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { Controller, type ReconcileContext, type ReconcileResult } from "../../kube/controller/controller.ts";
import type { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import type { CachedSighting, Caches } from "../caches.ts";
import { isWaiting, statusOf } from "../core/claim.ts";
import { type Evidence, isSettled, type LifecycleStep, nextStep } from "../core/lifecycle.ts";
import type { Party } from "../core/party.ts";
import type { ClaimStore } from "../ledger/claim-store.ts";
import { distinctHolders, instanceMacs, type ListedMac, machineMacs, podMacs } from "../objects/holders.ts";
import { FirstSeen } from "./first-seen.ts";
import { onManagementChange, whileFollowing } from "./following.ts";
import { WaitingOwners } from "./waiting-owners.ts";

const CONCURRENCY = 8;
/** Every claim is looked at again this often, whatever events were missed. */
const SWEEP_MS = 600_000;
/** A release that waits for a live object is looked at again, in case its event never comes. */
const HELD_ELSEWHERE_MS = 30_000;

const NOTHING_FOUND: Evidence = { holders: [], existing: [] };

export interface ClaimControllerOptions {
  readonly caches: Caches;
  readonly store: ClaimStore;
  /** Live reads: which of the parties have the address now. */
  readonly evidence: (mac: Mac, parties: readonly Party[]) => Promise<Evidence>;
  readonly clock: Clock;
  /** For the delays between tries. */
  readonly random?: () => number;
  readonly log: Log;
  /** Told of every step that was written. */
  readonly onStep: (step: LifecycleStep, before: MACClaim | undefined) => void;
}

export class ClaimController {
  readonly #options: ClaimControllerOptions;
  readonly #controller: Controller;
  readonly #waiting: WaitingOwners;
  readonly #rests: FirstSeen;

  constructor(options: ClaimControllerOptions) {
    this.#options = options;
    const { clock, log, random } = options;
    this.#waiting = new WaitingOwners(clock);
    this.#rests = new FirstSeen(clock);
    this.#controller = new Controller({
      name: "claims",
      concurrency: CONCURRENCY,
      clock,
      log,
      ...(random && { random }),
      reconcile: (key, context) => this.#reconcile(key, context),
    });
  }

  /** Runs until the signal aborts, then resolves once nothing is being written any more. Can be run once. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches } = this.#options;
    const stops = [
      caches.claims.on({
        add: (claim) => this.#enqueueClaim(claim),
        update: (claim) => this.#enqueueClaim(claim),
        delete: (claim) => this.#enqueueClaim(claim),
      }),
      caches.pools.on({
        add: () => this.#enqueueAll(),
        update: (pool, old) => {
          if (pool.metadata.generation !== old.metadata.generation) this.#enqueueAll();
        },
      }),
      this.#follow(caches.machines, machineMacs),
      caches.machines.on({ delete: (machine) => this.#enqueueInstanceOf(machine) }),
      this.#follow(caches.instances, instanceMacs),
      this.#follow(caches.pods, (pod) => podMacs(pod)),
      onManagementChange(caches, (inside) => this.#enqueueListed(inside)),
    ];
    await whileFollowing(caches, signal, stops, () => Promise.all([this.#controller.run(signal), this.#sweep(signal)]));
  }

  #enqueueClaim(claim: MACClaim): void {
    this.#controller.enqueue(claim.metadata.name ?? "");
  }

  /** Looks at the addresses that an object has gained or lost; most updates of pods and VMIs change none. */
  #follow(informer: Informer<KubeObject>, macsOf: (object: KubeObject) => ListedMac[]): () => void {
    const enqueue = (macs: Iterable<Mac>): void => {
      for (const mac of macs) this.#controller.enqueue(claimName(mac));
    };
    const listed = (object: KubeObject): Set<Mac> => new Set(macsOf(object).map(({ mac }) => mac));
    return informer.on({
      add: (object) => enqueue(listed(object)),
      update: (object, old) => {
        const [now, before] = [listed(object), listed(old)];
        const other = object.metadata.uid !== old.metadata.uid;
        enqueue([...now].filter((mac) => other || !before.has(mac)));
        enqueue([...before].filter((mac) => other || !now.has(mac)));
      },
      delete: (object) => enqueue(listed(object)),
    });
  }

  /** A VM that opted out spoke for its instance, which is managed by itself once it is alone. */
  #enqueueInstanceOf({ metadata: { namespace = "", name = "" } }: KubeObject): void {
    const instance = this.#options.caches.instances.get(`${namespace}/${name}`);
    for (const { mac } of instance === undefined ? [] : instanceMacs(instance))
      this.#controller.enqueue(claimName(mac));
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#options.clock.sleep(SWEEP_MS, signal);
      this.#enqueueAll();
    }
  }

  /** Claims without an owner as well as owners without a claim. */
  #enqueueAll(): void {
    for (const claim of this.#options.caches.claims.list()) this.#enqueueClaim(claim);
    this.#enqueueListed(() => true);
  }

  #enqueueListed(inside: (object: KubeObject) => boolean): void {
    const { machines, instances, pods } = this.#options.caches;
    const listed = [
      ...machines.list().filter(inside).flatMap(machineMacs),
      ...instances.list().filter(inside).flatMap(instanceMacs),
      ...pods
        .list()
        .filter(inside)
        .flatMap((pod) => podMacs(pod)),
    ];
    for (const { mac } of listed) this.#controller.enqueue(claimName(mac));
  }

  /**
   * Goes by the claim in the cache: its version was there before the live reads begin, and a newer one makes the write
   * fail, after which its own event brings the key back.
   */
  async #reconcile(key: string, { signal, log }: ReconcileContext): Promise<ReconcileResult> {
    const { caches, clock, evidence } = this.#options;
    const mac = macOfClaimName(key);
    if (mac === undefined) return {};
    const claim = caches.claims.get(key);
    const sightings = caches.sightings(mac);
    const { overdue, nextMs } = this.#waits(key, claim);
    const restMs = this.#restMs(key, claim, mac);
    const remainingMs = restMs ?? nextMs;
    if (restMs !== 0 && isSettled(claim, distinctHolders(sightings), overdue)) return { requeueAfterMs: remainingMs };
    const adoptAs = this.#adoptAs(mac, sightings);
    if (claim === undefined && adoptAs === undefined) return {};

    const parties = [...(claim === undefined ? [] : statusOf(claim).owners), ...sightings];
    const step = nextStep({
      mac,
      claim,
      evidence: parties.length === 0 ? NOTHING_FOUND : await evidence(mac, parties),
      overdue,
      restOver: restMs === 0,
      nowMs: clock.now(),
      quarantineMs: this.#quarantineMs(claim, mac),
      adoptAs,
    });
    if (step.action === "none") return { requeueAfterMs: remainingMs || HELD_ELSEWHERE_MS };
    await this.#write(step, claim, signal, log);
    return {};
  }

  async #write(
    step: Exclude<LifecycleStep, { action: "none" }>,
    before: MACClaim | undefined,
    signal: AbortSignal,
    log: Log,
  ): Promise<void> {
    const { store, onStep } = this.#options;
    try {
      if (step.action === "create") await store.create(step.claim, signal);
      else if (step.action === "update") await store.update(step.claim, signal);
      else await store.remove(step.claim, signal);
    } catch (error) {
      if (!isAlreadyExists(error) && !isConflict(error) && !isNotFound(error)) throw error;
      log.debug({ step: step.action }, "somebody else has written the claim first");
      return;
    }
    const { phase, owner } = statusOf(step.claim);
    log.info({ mac: step.claim.spec.mac, step: step.action, phase, owner }, "claim changed");
    onStep(step, before);
  }

  /** Who of a claim that waits was waited for long enough, and when the next will have been. */
  #waits(
    key: string,
    claim: MACClaim | undefined,
  ): { readonly overdue: ReadonlySet<ClaimOwner>; readonly nextMs: number | undefined } {
    const status = claim === undefined ? undefined : statusOf(claim);
    if (status === undefined || !isWaiting(status)) {
      this.#waiting.forget(key);
      return { overdue: new Set(), nextMs: undefined };
    }
    const elapsed = this.#waiting.elapsedMs(key, status.owners);
    const { pendingMs } = this.#options.caches.index;
    const overdue = status.owners.filter((_, position) => (elapsed[position] ?? 0) >= pendingMs);
    const left = elapsed.map((ms) => pendingMs - ms).filter((ms) => ms > 0);
    return { overdue: new Set(overdue), nextMs: left.length === 0 ? undefined : Math.min(...left) };
  }

  /** How long the claim rests, by the clock that is earlier: undefined when it does not, 0 when that is over. */
  #restMs(key: string, claim: MACClaim | undefined, mac: Mac): number | undefined {
    const status = claim === undefined ? undefined : statusOf(claim);
    if (claim === undefined || status?.phase !== "Quarantined") {
      this.#rests.forget(key);
      return undefined;
    }
    const byWallMs = (Date.parse(status.until ?? "") || 0) - this.#options.clock.now();
    const hereMs = this.#quarantineMs(claim, mac) - this.#rests.elapsedMs(key, status.until ?? "");
    return Math.max(0, Math.min(byWallMs, hereMs));
  }

  #quarantineMs(claim: MACClaim | undefined, mac: Mac): number {
    const { index } = this.#options.caches;
    const pool = index.pool(claim?.spec.pool ?? "") ?? index.pools().find((candidate) => candidate.has(mac));
    return pool?.settings.quarantineMs ?? DEFAULT_QUARANTINE_SECONDS * 1000;
  }

  /** Managed objects get a claim for any address, others for one that a pool could hand out. */
  #adoptAs(
    mac: Mac,
    sightings: readonly CachedSighting[],
  ): { readonly pool: string | undefined; readonly origin: "explicit" | "observed" } | undefined {
    const { caches } = this.#options;
    const owners = sightings.filter(({ adoptable }) => adoptable);
    const managed = owners.find((sighting) => sighting.managed);
    const inRange = caches.index.pools().find((pool) => pool.has(mac));
    if (managed !== undefined) {
      const pool = inRange ?? caches.index.poolFor(caches.labelsOf(managed.namespace));
      return { pool: pool?.name, origin: "explicit" };
    }
    return owners.length > 0 && inRange !== undefined ? { pool: inRange.name, origin: "observed" } : undefined;
  }
}
