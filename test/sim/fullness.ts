import { parseMac } from "../../src/api/mac.ts";
import type { MACClaim } from "../../src/api/mac-claim.ts";
import { RESERVATION_MS } from "../../src/mac-pool/claims/limits.ts";
import { Violation } from "./audit.ts";
import type { HolderKind } from "./objects.ts";
import { isLeftAlone } from "./rest.ts";
import type { SimReplica } from "./sim-replica.ts";
import type { Wanted } from "./submission.ts";
import type { World } from "./world.ts";

const RESERVED_MS = RESERVATION_MS + 1_000;
/** A cache without a connection may lag behind the API server by this time. */
const MAX_LAG_MS = 240_000;

/**
 * No pool is reported full while the replica that says so knows of an address that could be given. One that it has
 * tried for a request counts as given as long as its reservation lasts, because the API server may still carry it out.
 */
export class FullnessCheck {
  readonly #world: World;
  /** Replica -> address -> since when its cache shows it without an owner. Addresses never seen have none. */
  readonly #available = new Map<SimReplica, Map<string, number>>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Replica -> when its ranges changed last. */
  readonly #changedMs = new Map<SimReplica, number>();

  follow(replica: SimReplica): void {
    const available = new Map<string, number>();
    for (const known of this.#available.keys()) if (!known.host.isAlive) this.#available.delete(known);
    this.#available.set(replica, available);
    const set = (claim: MACClaim): void => {
      const { mac } = claim.spec;
      if (claim.status?.phase !== "Quarantined") available.set(mac, Number.POSITIVE_INFINITY);
      else if (!Number.isFinite(available.get(mac) ?? 0)) available.set(mac, this.#world.scheduler.nowMs);
    };
    /** Also a pool that the replica learns of: the address may have been another's. */
    const changed = (): unknown => this.#changedMs.set(replica, this.#world.scheduler.nowMs);
    replica.caches.pools.on({
      add: changed,
      delete: changed,
      update: (pool, old) => {
        if (pool.metadata.generation !== old.metadata.generation) changed();
      },
    });
    replica.caches.claims.on({
      add: set,
      update: set,
      delete: ({ spec: { mac } }) => {
        if (!Number.isFinite(available.get(mac) ?? 0)) available.set(mac, this.#world.scheduler.nowMs);
      },
    });
  }

  /**
   * `listed`: addresses that the object asks for itself, which are not chosen for another of its interfaces.
   * `wishes`: how many of its interfaces want an address chosen for them.
   */
  check(
    { kind, namespace }: Wanted,
    refusal: string,
    listed: readonly string[],
    wishes: number,
    calledMs: number,
    replica: SimReplica,
  ): void {
    const pool = /address(?:es)? of MACPool (\S+) is (?:free|taken)/.exec(refusal)?.[1];
    if (pool === undefined) throw new Violation("full", `${kind} in ${namespace} was not told which pool is full`);
    const free = this.#freeIn(pool, listed, calledMs, replica);
    if (free.length < wishes) return;
    throw new Violation(
      "full",
      `${kind} in ${namespace} was told that the pool ${pool} is full, and ${free.join(" and ")} are free`,
    );
  }

  /** Whether the object may list the address without a say about it. */
  mayOnlyList(mac: string, id: string): boolean {
    const [kind = "", key = ""] = id.split(" ");
    const [namespace = ""] = key.split("/");
    return this.#world.tenancy.mayOnlyList(kind as HolderKind, namespace, mac) || isLeftAlone(this.#world, id);
  }

  /** Whether a pool with the address had no other that nobody lists. `chosen`: what the request was given. */
  isLastChoice(mac: string, chosen: ReadonlySet<string>, calledMs: number, replica: SimReplica): boolean {
    const parsed = parseMac(mac);
    return replica.caches.index
      .pools()
      .filter(({ settings }) => parsed !== undefined && settings.segments.has(parsed))
      .some(({ name }) => this.#freeIn(name, [...chosen], calledMs, replica).length === 0);
  }

  /** Addresses that the replica could have given, and has known as free for long. */
  #freeIn(pool: string, listed: readonly string[], calledMs: number, replica: SimReplica): string[] {
    const available = this.#available.get(replica);
    const segments = replica.caches.index.pool(pool)?.settings.segments;
    if (available === undefined || segments === undefined) return [];
    if ((this.#changedMs.get(replica) ?? 0) >= calledMs - RESERVED_MS) return [];
    const free: string[] = [];
    for (let number = 0; number < this.#world.tenancy.addressCount; number++) {
      const mac = this.#world.tenancy.mac(number);
      const parsed = parseMac(mac);
      if (parsed === undefined || !segments.has(parsed) || listed.includes(mac)) continue;
      const [sinceMs, triedMs] = [available.get(mac) ?? 0, replica.tried.get(mac) ?? 0];
      if (this.#world.listings.isListedSince(replica, mac, calledMs - RESERVED_MS)) continue;
      if (sinceMs < calledMs - RESERVED_MS && triedMs < calledMs - MAX_LAG_MS) free.push(mac);
    }
    return free;
  }
}
