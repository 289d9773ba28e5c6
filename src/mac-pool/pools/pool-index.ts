import type { ReportedStation } from "../../api/host-interfaces.ts";
import type { Mac } from "../../api/mac.ts";
import type { ShownPhase } from "../../api/mac-claim.ts";
import { OBJECT_OPT_OUT_LABEL } from "../../api/mac-pool-scope.ts";
import { DEFAULT_MAC_POOL } from "../../api/names.ts";
import { PENDING_MS, RESERVATION_MS } from "../claims/limits.ts";
import { HostAddresses } from "./host-addresses.ts";
import { selectorMatches } from "./label-selector.ts";
import { NamespaceCounts } from "./namespace-counts.ts";
import { PendingClaims } from "./pending-claims.ts";
import { type ClaimFacts, Pool, type PoolSettings } from "./pool.ts";

/** No node alone excludes more than this part of a pool by what it says to see: a quarter. */
const NODE_SHARE = 4;
/** All nodes together exclude no more than a half. Addresses of their own interfaces count, and are excluded beyond it too. */
const TOTAL_SHARE = 2;

/**
 * Every pool and every claim as one replica knows them. It is a cache: a wrong entry costs a lost race at the API server,
 * or an address that is not offered for a while. It cannot make a duplicate.
 */
export class PoolIndex {
  readonly #pools = new Map<string, Pool>();
  readonly #claims = new Map<Mac, ClaimFacts>();
  #quarantined = 0;
  readonly #owned = new NamespaceCounts();
  readonly #shared = new Set<Mac>();
  readonly pending = new PendingClaims();
  readonly #hosts = new HostAddresses();
  /** Address -> when the reservation ends. All last equally long, so insertion order is the order of their ends. */
  readonly #reserved = new Map<Mac, number>();

  constructor() {
    this.pending.onChange((mac, change) => {
      for (const pool of this.#pools.values()) pool.countPending(mac, change === "pending" ? 1 : -1);
    });
  }

  /** Addresses that more than one object has. */
  get shared(): ReadonlySet<Mac> {
    return this.#shared;
  }

  /** Addresses of the nodes' own interfaces, and of stations beyond their uplinks. */
  get hosts(): Pick<HostAddresses, "at" | "has" | "macs" | "foreign"> {
    return this.#hosts;
  }

  get claimCount(): number {
    return this.#claims.size;
  }

  claimsByPhase(): [ShownPhase, number][] {
    const { size: pending } = this.pending;
    return [
      ["Pending", pending],
      ["Bound", this.claimCount - pending - this.#quarantined],
      ["Quarantined", this.#quarantined],
    ];
  }

  /**
   * How long a claim waits for an object that was admitted: the largest value of any pool, since the lifetime of a request
   * depends on the API server and not on the pool.
   */
  get pendingMs(): number {
    return Math.max(PENDING_MS, ...[...this.#pools.values()].map(({ settings }) => settings.pendingMs));
  }

  pools(): Pool[] {
    return [...this.#pools.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  pool(name: string): Pool | undefined {
    return this.#pools.get(name);
  }

  /** Whether any pool gives out the address. */
  isInRange(mac: Mac): boolean {
    for (const pool of this.#pools.values()) if (pool.has(mac)) return true;
    return false;
  }

  /**
   * The pool that serves a namespace: the oldest whose namespaceSelector matches, else `default`.
   * Of the pools without a selector only `default` serves namespaces.
   */
  poolFor(namespaceLabels: Readonly<Record<string, string>>): Pool | undefined {
    let oldest: Pool | undefined;
    for (const pool of this.#pools.values()) {
      const { namespaceSelector } = pool.settings;
      if (namespaceSelector === undefined || !selectorMatches(namespaceSelector, namespaceLabels)) continue;
      if (oldest === undefined || isOlder(pool, oldest)) oldest = pool;
    }
    return oldest ?? this.#pools.get(DEFAULT_MAC_POOL);
  }

  /** Whether an object of the namespace that opts out is left alone; otherwise its addresses are claimed all the same. */
  mayOptOut(namespaceLabels: Readonly<Record<string, string>>): boolean {
    const label = namespaceLabels[OBJECT_OPT_OUT_LABEL];
    if (label !== undefined) return label === "allow";
    return this.poolFor(namespaceLabels)?.settings.objectOptOut === "Allow";
  }

  /** Other pools that have addresses in common with this one. */
  overlapping(pool: Pool): string[] {
    const shared = (other: Pool): boolean =>
      other.settings.segments.ranges.some((range) =>
        pool.settings.segments.ranges.some((mine) => range.start <= mine.end && mine.start <= range.end),
      );
    return this.pools()
      .filter((other) => other !== pool && shared(other))
      .map((other) => other.name);
  }

  /** Adds or replaces a pool. New ranges are counted anew from the claims: O(claims), once per change of the ranges. */
  setPool(settings: PoolSettings): void {
    const pool = new Pool(settings);
    for (const [mac, claim] of this.#claims) {
      pool.count(mac, claim);
      pool.mark(mac, true);
      if (this.pending.has(mac)) pool.countPending(mac, 1);
    }
    for (const mac of this.#reserved.keys()) pool.mark(mac, true);
    this.#pools.set(settings.name, pool);
    const { stations } = this.#hosts;
    const excluded = [...this.#hosts.macs()].filter((mac) => pool.has(mac));
    const isStation = (mac: Mac): boolean => stations.excludes(mac);
    for (const mac of excluded) if (!isStation(mac)) this.#mark(mac);
    const lefts = new Map<string, number>();
    for (const mac of excluded.filter(isStation)) {
      const node = stations.at(mac)?.node ?? "";
      const left = lefts.get(node) ?? Math.floor(pool.capacity / NODE_SHARE);
      lefts.set(node, left - 1);
      if (left <= 0 || totalLeft(pool) <= 0) stations.include(mac);
      this.#mark(mac);
    }
  }

  deletePool(name: string): void {
    this.#pools.delete(name);
  }

  claim(mac: Mac): ClaimFacts | undefined {
    return this.#claims.get(mac);
  }

  /** `sinceMs`: when the claim was made. */
  setClaim(mac: Mac, claim: ClaimFacts, sinceMs = Number.NEGATIVE_INFINITY): void {
    this.#forget(mac);
    this.#hosts.stations.take(mac, sinceMs);
    this.#reserved.delete(mac);
    this.#claims.set(mac, claim);
    if (claim.ownerCount > 1) this.#shared.add(mac);
    if (claim.isQuarantined) this.#quarantined += 1;
    for (const pool of this.#pools.values()) pool.count(mac, claim);
    this.#owned.change(claim.namespaces, 1);
    this.#mark(mac);
  }

  deleteClaim(mac: Mac): void {
    this.#forget(mac);
    this.pending.forget(mac);
    this.#mark(mac);
  }

  /** Interfaces of a node by their addresses, none for a node that is gone. They are not drawn any more, whoever has a claim. */
  setNode(node: string, addresses: ReadonlyMap<Mac, string>): void {
    for (const mac of this.#hosts.set(node, addresses)) this.#mark(mac);
  }

  /**
   * What a node sees beyond its uplinks. `isListed`: whether an object lists the address. `nowMs`, here and in `release`: by the wall
   * clock.
   */
  setStations(
    node: string,
    reported: readonly ReportedStation[],
    nowMs: number,
    isListed: (mac: Mac) => boolean = () => false,
  ): void {
    const { stations } = this.#hosts;
    const rooms = reported.length === 0 ? [] : this.#roomsOf(node);
    for (const station of reported) {
      if (this.#claims.has(station.mac) || isListed(station.mac)) {
        stations.seeTaken(station, nowMs);
        continue;
      }
      const concerned = rooms.filter(({ pool }) => pool.has(station.mac));
      if (concerned.length === 0) continue;
      if (!stations.see(station, nowMs, () => concerned.every(({ left }) => left > 0))) continue;
      for (const room of concerned) room.left -= 1;
      this.#mark(station.mac);
    }
    for (const mac of stations.sweep(nowMs)) this.#mark(mac);
  }

  /** An object of the cluster lists the address, with or without a claim, since it was created: it is no station of others. */
  list(mac: Mac, createdMs: number): void {
    if (this.#hosts.stations.take(mac, createdMs)) this.#mark(mac);
  }

  /** No object lists the address any more, or its claim is gone. */
  release(mac: Mac, nowMs: number): void {
    if (this.#claims.has(mac)) return;
    const hasRoom = (node: string): boolean =>
      this.#roomsOf(node).every(({ pool, left }) => left > 0 || !pool.has(mac));
    if (this.#hosts.stations.release(mac, nowMs, hasRoom)) this.#mark(mac);
  }

  /** How many more addresses of each pool a node may exclude. */
  #roomsOf(node: string): { readonly pool: Pool; left: number }[] {
    const excluded = [...this.#hosts.stations.excludedBy(node)];
    return [...this.#pools.values()].map((pool) => {
      const used = excluded.filter((mac) => pool.has(mac)).length;
      return { pool, left: Math.min(Math.floor(pool.capacity / NODE_SHARE) - used, totalLeft(pool)) };
    });
  }

  /** Addresses that objects of the namespace have, in or out of range. */
  ownedBy(namespace: string): number {
    return this.#owned.in(namespace);
  }

  /**
   * Keeps the address from being drawn again before the cache shows its claim, or for a while if there is none. `nowMs`, here
   * and for what is drawn: by the monotonic clock.
   */
  reserve(mac: Mac, nowMs: number): void {
    this.#reserved.delete(mac);
    this.#reserved.set(mac, nowMs + RESERVATION_MS);
    for (const pool of this.#pools.values()) pool.mark(mac, true);
  }

  unreserve(mac: Mac): void {
    this.#reserved.delete(mac);
    this.#mark(mac);
  }

  /** A quarantined address that was taken and not used is offered again, as far as its claim is known to rest still. */
  offerQuarantined(mac: Mac): void {
    const claim = this.#claims.get(mac);
    if (claim === undefined) return;
    for (const pool of this.#pools.values()) pool.offerQuarantined(mac, claim);
  }

  /** A free address of the pool after dropping reservations that are over. Reserves nothing. */
  draw(pool: Pool, random: number, nowMs: number): Mac | undefined {
    this.#dropReservations(nowMs);
    return pool.draw(random);
  }

  /** The same for one at a point of the pool, or a little behind. */
  near(pool: Pool, point: number, nowMs: number): Mac | undefined {
    this.#dropReservations(nowMs);
    return pool.near(point);
  }

  #dropReservations(nowMs: number): void {
    for (const [reserved, endsAtMs] of this.#reserved) {
      if (endsAtMs > nowMs) break;
      this.unreserve(reserved);
    }
  }

  #forget(mac: Mac): void {
    const claim = this.#claims.get(mac);
    if (claim === undefined) return;
    if (claim.isQuarantined) this.#quarantined -= 1;
    for (const pool of this.#pools.values()) pool.uncount(mac, claim);
    this.#owned.change(claim.namespaces, -1);
    this.#claims.delete(mac);
    this.#shared.delete(mac);
  }

  #mark(mac: Mac): void {
    const isHost = this.#hosts.has(mac);
    const isClaimed = this.#claims.has(mac);
    for (const pool of this.#pools.values()) {
      pool.mark(mac, isHost || isClaimed || this.#reserved.has(mac));
      pool.exclude(mac, isHost && !isClaimed);
    }
  }
}

function isOlder({ name, settings }: Pool, other: Pool): boolean {
  const { createdAtMs } = other.settings;
  return settings.createdAtMs < createdAtMs || (settings.createdAtMs === createdAtMs && name < other.name);
}

/** How many more addresses of the pool nodes may exclude. */
function totalLeft({ capacity, counts }: Pool): number {
  return Math.floor(capacity / TOTAL_SHARE) - counts.hostAddresses;
}
