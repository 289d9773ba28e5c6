import { claimName, type Mac } from "../../api/mac.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import { addressesLeft } from "../admission/namespace-quota.ts";
import type { Caches } from "../cluster/caches.ts";
import { type CachedOwner, hasSay, mayHave, poolOf } from "../cluster/standing.ts";

/** An address that an object lists and that has no claim. */
export interface Unclaimed {
  /** Name of the claim to be. */
  readonly claim: string;
  /** The pool that the claim will be of; empty where there is none. */
  readonly pool: string;
  /** Identifies the object. */
  readonly owner: string;
}

export interface AdoptionProgress {
  /** Objects that had addresses without a claim when the adoption began. */
  readonly owners: number;
  /** Those of them whose addresses all have one now, or need none any more. */
  readonly adopted: number;
  /** Since the adoption began, until it was over. */
  readonly tookMs: number;
}

export interface AdoptionOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Called when an adoption begins, goes on, or is over. */
  readonly onProgress: (pool: string, progress: AdoptionProgress) => void;
}

/** The log says how far it is no more often than this. */
const LOG_INTERVAL_MS = 10_000;

/** How far the leader is with claims for objects that have addresses and no claim. An adoption is over when all of them have. */
export class Adoption {
  readonly #options: AdoptionOptions;
  /** Claim -> who waits for it. */
  readonly #waiting = new Map<string, Unclaimed[]>();
  readonly #pools = new Map<string, PoolAdoption>();
  #isKnown = false;
  #beganMs = 0;
  #loggedMs = 0;

  constructor(options: AdoptionOptions) {
    this.#options = options;
  }

  /** Undefined until this process has begun one. */
  progress(pool: string): AdoptionProgress | undefined {
    return this.#isKnown ? (this.#pools.get(pool)?.progress ?? NONE) : undefined;
  }

  /** All that is unclaimed now. */
  begin(unclaimed: Iterable<Unclaimed>): void {
    const { clock, log } = this.#options;
    const known = new Set(this.#waiting.keys());
    this.#isKnown = true;
    const found = [...unclaimed].filter(({ claim }) => !known.has(claim));
    if (found.length === 0) return;
    this.#loggedMs = clock.monotonicMs();
    if (known.size === 0) {
      this.#beganMs = this.#loggedMs;
      this.#pools.clear();
    }
    for (const each of found) {
      this.#waiting.set(each.claim, [...(this.#waiting.get(each.claim) ?? []), each]);
      const pool = this.#pools.get(each.pool) ?? new PoolAdoption();
      this.#pools.set(each.pool, pool);
      pool.found(each.owner);
    }
    const { owners } = this.#sum();
    log.info({ owners, addresses: this.#waiting.size }, "adopting objects whose addresses have no claim");
    for (const pool of this.#pools.keys()) this.#report(pool);
  }

  /** The address has a claim, or needs none. */
  settle(claim: string): void {
    const waiting = this.#waiting.get(claim);
    if (waiting === undefined) return;
    this.#waiting.delete(claim);
    const tookMs = this.#options.clock.monotonicMs() - this.#beganMs;
    for (const { pool, owner } of waiting) this.#pools.get(pool)?.settled(owner, tookMs);
    const over = this.#waiting.size === 0;
    this.#logProgress(tookMs, over);
    for (const pool of over ? this.#pools.keys() : new Set(waiting.map(({ pool }) => pool))) this.#report(pool);
  }

  #logProgress(tookMs: number, over: boolean): void {
    const { clock, log } = this.#options;
    const seconds = Math.round(tookMs / 100) / 10;
    if (over) log.info({ ...this.#sum(), seconds }, "adopted all objects whose addresses had no claim");
    if (over || clock.monotonicMs() - this.#loggedMs < LOG_INTERVAL_MS) return;
    this.#loggedMs = clock.monotonicMs();
    log.info({ ...this.#sum(), seconds }, "adopting");
  }

  #sum(): { owners: number; adopted: number } {
    const all = [...this.#pools.values()].map(({ progress }) => progress);
    const sum = (field: "owners" | "adopted"): number => all.reduce((total, each) => total + each[field], 0);
    return { owners: sum("owners"), adopted: sum("adopted") };
  }

  #report(pool: string): void {
    this.#options.onProgress(pool, this.progress(pool) ?? NONE);
  }
}

const NONE: AdoptionProgress = { owners: 0, adopted: 0, tookMs: 0 };

class PoolAdoption {
  /** Owner -> addresses that have no claim yet. */
  readonly #missing = new Map<string, number>();
  #owners = 0;
  #tookMs = 0;

  get progress(): AdoptionProgress {
    return { owners: this.#owners, adopted: this.#owners - this.#missing.size, tookMs: this.#tookMs };
  }

  found(owner: string): void {
    const missing = this.#missing.get(owner);
    if (missing === undefined) this.#owners += 1;
    this.#missing.set(owner, (missing ?? 0) + 1);
  }

  settled(owner: string, tookMs: number): void {
    this.#tookMs = tookMs;
    const missing = (this.#missing.get(owner) ?? 0) - 1;
    if (missing > 0) this.#missing.set(owner, missing);
    else this.#missing.delete(owner);
  }
}

/** The claim that an address without one gets. */
interface AdoptedClaim {
  readonly pool: string | undefined;
  readonly origin: "explicit" | "observed";
  readonly owners: readonly CachedOwner[];
}

/**
 * For whom an address that has no claim gets one. What the pool manages gets it for any address that it may ask for. VMs and VMIs
 * that it does not manage get it for one that a pool could hand out, as far as a request of their namespace would: they have it
 * from nobody, and take none away (docs/decisions/099).
 */
export function adoptionOf(mac: Mac, observed: readonly CachedOwner[], caches: Caches): AdoptedClaim | undefined {
  const owners = observed.filter((each) => hasSay(mac, each, [], caches));
  const managed = owners.find(({ countsAsOwner }) => countsAsOwner);
  const inRange = caches.index.pools().find((pool) => pool.has(mac));
  if (managed !== undefined)
    return { pool: (inRange ?? poolOf(managed.namespace, caches))?.name, origin: "explicit", owners };
  if (inRange === undefined) return undefined;
  const unmanaged = observed.filter(
    (each) => each.kind !== "Pod" && !each.managed && each.countsAsOwner && mayAdopt(mac, each.namespace, caches),
  );
  return unmanaged.length === 0 ? undefined : { pool: inRange.name, origin: "observed", owners: unmanaged };
}

const mayAdopt = (mac: Mac, namespace: string, caches: Caches): boolean =>
  mayHave(mac, namespace, caches) && addressesLeft(namespace, poolOf(namespace, caches), caches.index) > 0;

/** What the leader has to adopt, as far as the caches know. */
export function* unclaimedIn(caches: Caches): Generator<Unclaimed> {
  for (const { mac, owner } of caches.listed()) {
    const claim = claimName(mac);
    if (caches.claims.get(claim) !== undefined) continue;
    const adopted = adoptionOf(mac, [owner], caches);
    const named = `${owner.kind} ${owner.namespace}/${owner.name}`;
    if (adopted !== undefined) yield { claim, pool: adopted.pool ?? "", owner: named };
  }
}
