import type { Mac } from "../../api/mac.ts";
import type {
  ConflictPolicy,
  ConflictScope,
  ExplicitAddresses,
  HostAddressPolicy,
  LabelSelector,
  ObjectOptOut,
} from "../../api/mac-pool.ts";
import { DEFAULT_MAC_POOL } from "../../api/names.ts";
import { ExpiryQueue } from "./expiry-queue.ts";
import { FreeSpace } from "./free-space.ts";
import type { Segments } from "./segments.ts";

/** A MACPool after validation. */
export interface PoolSettings {
  readonly name: string;
  readonly segments: Segments;
  readonly namespaceSelector: LabelSelector | undefined;
  readonly conflictPolicy: ConflictPolicy;
  /** Cluster, unless set. */
  readonly conflictScope?: ConflictScope;
  /** Anywhere, unless set. */
  readonly explicitAddresses?: ExplicitAddresses;
  /** Warn, unless set. */
  readonly hostAddressPolicy?: HostAddressPolicy;
  /** Claim, unless set. */
  readonly objectOptOut?: ObjectOptOut;
  /** No limit, unless set. */
  readonly maxAddressesPerNamespace?: number;
  readonly quarantineMs: number;
  readonly pendingMs: number;
  readonly createdAtMs: number;
}

/** What a pool needs to know of a claim. */
export interface ClaimFacts {
  readonly isQuarantined: boolean;
  /** Pool that the claim says it belongs to; claims made before there was any pool count for `default`. */
  readonly pool: string | undefined;
  readonly ownerCount: number;
  /** Namespaces of its owners. */
  readonly namespaces: readonly string[];
  readonly untilMs: number;
}

export interface PoolCounts {
  readonly capacity: number;
  readonly used: number;
  readonly free: number;
  readonly pending: number;
  readonly quarantined: number;
  /** Of nodes, without a claim: they are not in use and not free. */
  readonly hostAddresses: number;
  readonly outOfRange: number;
  readonly conflicts: number;
}

/** How far from a point a free address is looked for: in a pool that is half full, one in 65,536 is not found. */
const MAX_STEPS = 16;

/** One pool's addresses and counters. Fed by PoolIndex; every operation is O(1) or O(log quarantined). */
export class Pool {
  #settings: PoolSettings;
  readonly #space: FreeSpace;
  /** Quarantined addresses, without those that a request is taking over. */
  readonly #quarantineQueue = new ExpiryQueue<Mac>();
  #used = 0;
  #pending = 0;
  #quarantined = 0;
  readonly #excluded = new Set<Mac>();
  #outOfRange = 0;
  #conflicts = 0;

  constructor(settings: PoolSettings) {
    this.#settings = settings;
    this.#space = new FreeSpace(settings.segments.size);
  }

  get settings(): PoolSettings {
    return this.#settings;
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Takes over everything but the addresses, which have to be the same. */
  changePolicy(settings: PoolSettings): void {
    this.#settings = { ...settings, segments: this.#settings.segments };
  }

  get capacity(): number {
    return this.#space.capacity;
  }

  get counts(): PoolCounts {
    const { capacity } = this.#space;
    return {
      capacity,
      used: this.#used,
      free: capacity - this.#used - this.#excluded.size,
      pending: this.#pending,
      quarantined: this.#quarantined,
      hostAddresses: this.#excluded.size,
      outOfRange: this.#outOfRange,
      conflicts: this.#conflicts,
    };
  }

  /** Addresses of nodes, without a claim. */
  get excluded(): ReadonlySet<Mac> {
    return this.#excluded;
  }

  has(mac: Mac): boolean {
    return this.settings.segments.has(mac);
  }

  /** A free address, none much likelier than others; undefined when none is free. Marks nothing. */
  draw(random: number): Mac | undefined {
    const number = this.#space.draw(random);
    return number === undefined ? undefined : this.settings.segments.macAt(number);
  }

  /** A free address at a point of the pool in [0, 1) or a little behind; undefined when none is there. Marks nothing. */
  near(point: number): Mac | undefined {
    const { segments } = this.settings;
    const first = Math.floor(point * segments.size);
    for (let step = 0; step < Math.min(MAX_STEPS, segments.size); step++) {
      const number = (first + step) % segments.size;
      if (!this.#space.has(number)) return segments.macAt(number);
    }
    return undefined;
  }

  /** The address that has been quarantined longest, but for those. */
  oldestQuarantined(isExcluded: (mac: Mac) => boolean): Mac | undefined {
    const mac = this.takeOldestQuarantined(isExcluded);
    if (mac !== undefined) this.#quarantineQueue.set(mac, 0);
    return mac;
  }

  /** The same, not offered to others any more unless its claim turns up quarantined again. */
  takeOldestQuarantined(isExcluded: (mac: Mac) => boolean = () => false): Mac | undefined {
    const skipped: Mac[] = [];
    let mac = this.#quarantineQueue.oldest();
    for (; mac !== undefined && isExcluded(mac); mac = this.#quarantineQueue.oldest()) {
      skipped.push(mac);
      this.#quarantineQueue.delete(mac);
    }
    if (mac !== undefined) this.#quarantineQueue.delete(mac);
    for (const other of skipped) this.#quarantineQueue.set(other, 0);
    return mac;
  }

  /** Undoes takeOldestQuarantined where nothing was written. */
  offerQuarantined(mac: Mac, claim: ClaimFacts): void {
    if (claim.isQuarantined && this.has(mac)) this.#quarantineQueue.set(mac, claim.untilMs);
  }

  /** An address begins or ends to wait for its object; addresses outside are ignored. */
  countPending(mac: Mac, by: 1 | -1): void {
    if (this.has(mac)) this.#pending += by;
  }

  /** Marks an address as taken or free for draw; addresses outside are ignored. */
  mark(mac: Mac, taken: boolean): void {
    const number = this.settings.segments.numberOf(mac);
    if (number === undefined) return;
    if (taken) this.#space.take(number);
    else this.#space.release(number);
  }

  /** Whether a node has the address and no claim does; addresses outside are ignored. */
  exclude(mac: Mac, isExcluded: boolean): void {
    if (!isExcluded) this.#excluded.delete(mac);
    else if (this.has(mac)) this.#excluded.add(mac);
  }

  count(mac: Mac, claim: ClaimFacts): void {
    this.#tally(mac, claim, 1);
    this.offerQuarantined(mac, claim);
  }

  uncount(mac: Mac, claim: ClaimFacts): void {
    this.#tally(mac, claim, -1);
    this.#quarantineQueue.delete(mac);
  }

  /** Whether the claim counts for this pool: by its address, or else by its name. */
  concerns(mac: Mac, { pool = DEFAULT_MAC_POOL, isQuarantined }: ClaimFacts): boolean {
    return this.has(mac) || (pool === this.name && !isQuarantined);
  }

  #tally(mac: Mac, claim: ClaimFacts, change: 1 | -1): void {
    if (!this.concerns(mac, claim)) return;
    if (claim.ownerCount > 1) this.#conflicts += change;
    if (this.has(mac)) {
      this.#used += change;
      if (claim.isQuarantined) this.#quarantined += change;
    } else {
      this.#outOfRange += change;
    }
  }
}
