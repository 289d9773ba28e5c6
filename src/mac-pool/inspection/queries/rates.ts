import type { Mac } from "../../../api/mac.ts";
import type { Clock } from "../../../kube/clock.ts";
import type { Counted } from "./fill-rate.ts";

const BUCKET_MS = 5 * 60_000;
const WINDOW_MS = 7 * 24 * 3_600_000;

interface Bucket {
  readonly beganMs: number;
  allocations: number;
  releases: number;
}

/** How many claims of a pool have come and gone since this replica counts, a week at most. */
export class Rates {
  readonly #clock: Clock;
  /** The newest last; none for times in which nothing came or went. */
  readonly #buckets = new Map<string, Bucket[]>();
  #beganMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From now on changes are counted: what was there before came at an unknown time. */
  begin(): void {
    this.#beganMs ??= this.#clock.monotonicMs();
  }

  /** `pools`: names of those that have the address. */
  count(change: "allocations" | "releases", pools: readonly string[]): void {
    if (this.#beganMs === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    for (const pool of pools) {
      const buckets = this.#current(pool, nowMs);
      const last = buckets.at(-1);
      if (last !== undefined && nowMs - last.beganMs < BUCKET_MS) last[change] += 1;
      else buckets.push({ beganMs: nowMs, allocations: 0, releases: 0, [change]: 1 });
    }
  }

  of(pool: string): Counted {
    const nowMs = this.#clock.monotonicMs();
    const sum = { allocations: 0, releases: 0 };
    for (const { allocations, releases } of this.#current(pool, nowMs)) {
      sum.allocations += allocations;
      sum.releases += releases;
    }
    const windowMs = Math.min(WINDOW_MS, nowMs - (this.#beganMs ?? nowMs));
    return { ...sum, windowSeconds: Math.floor(windowMs / 1000) };
  }

  forget(pool: string): void {
    this.#buckets.delete(pool);
  }

  #current(pool: string, nowMs: number): Bucket[] {
    const buckets = this.#buckets.get(pool) ?? [];
    this.#buckets.set(pool, buckets);
    while (buckets[0] !== undefined && nowMs - buckets[0].beganMs > WINDOW_MS) buckets.shift();
    return buckets;
  }
}

/** Names of the pools that have the address. */
export function poolsWith(
  mac: Mac,
  pools: readonly { readonly name: string; has(mac: Mac): boolean }[],
): readonly string[] {
  return pools.filter((pool) => pool.has(mac)).map(({ name }) => name);
}
