/**
 * When a pool is full if claims go on coming and going as they did. Allocations and releases are taken for two Poisson
 * processes. The interval of each count is Byar's approximation (Breslow and Day, Statistical Methods in Cancer Research II, 1987);
 * the interval of their difference is recovered from both (MOVER: Zou and Donner, Statistics in Medicine 27, 2008).
 */

import { MIN_WINDOW_SECONDS } from "../../../api/forecast-text.ts";
import type { Mac } from "../../../api/mac.ts";
import type { Clock } from "../../../kube/clock.ts";
import type { Pool } from "../../pools/pool.ts";
import type { DaysToFullView, RateView } from "../rest/views.ts";

/** Of the standard normal distribution: 95 % lie between -Z and Z. */
const Z = 1.959964;
const DAY_SECONDS = 86_400;

export interface Counted {
  readonly allocations: number;
  readonly releases: number;
  readonly windowSeconds: number;
}

/** The 95 % interval of the mean of a Poisson process that has counted so many. */
export function poissonInterval(count: number): { readonly low: number; readonly high: number } {
  const bound = (n: number, sign: 1 | -1): number => n * (1 - 1 / (9 * n) + (sign * Z) / (3 * Math.sqrt(n))) ** 3;
  return { low: count === 0 ? 0 : Math.max(0, bound(count, -1)), high: bound(count + 1, 1) };
}

/** The 95 % interval of allocations less releases in the window. */
export function netInterval({ allocations, releases }: Counted): { readonly low: number; readonly high: number } {
  const [came, went] = [poissonInterval(allocations), poissonInterval(releases)];
  const net = allocations - releases;
  return {
    low: net - Math.hypot(allocations - came.low, went.high - releases),
    high: net + Math.hypot(came.high - allocations, releases - went.low),
  };
}

export function rateOf({ allocations, releases, windowSeconds }: Counted): RateView {
  if (windowSeconds < MIN_WINDOW_SECONDS) return { windowSeconds };
  const perDay = (count: number): number => round((count * DAY_SECONDS) / windowSeconds);
  return {
    allocationsPerDay: perDay(allocations),
    releasesPerDay: perDay(releases),
    netPerDay: perDay(allocations - releases),
    windowSeconds,
  };
}

export function daysToFull(free: number, counted: Counted): DaysToFullView {
  const { allocations, releases, windowSeconds } = counted;
  if (free === 0) return { days: 0, atLeast: 0, atMost: 0, reason: "The pool is full." };
  if (windowSeconds < MIN_WINDOW_SECONDS) {
    const reason = `A forecast takes an hour of counting. This replica has counted for ${describeSeconds(windowSeconds)}.`;
    return { days: null, atLeast: null, atMost: null, reason };
  }
  const { low, high } = netInterval(counted);
  const daysAt = (net: number): number | null => (net > 0 ? round((free / net) * (windowSeconds / DAY_SECONDS)) : null);
  const counts = `${several(allocations, "allocation")} and ${several(releases, "release")} in ${describeSeconds(windowSeconds)}`;
  const days = daysAt(allocations - releases);
  const reason = days === null ? `The pool is not filling: ${counts}.` : `From ${counts}.`;
  return { days, atLeast: daysAt(high), atMost: daysAt(low), reason };
}

function several(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

function describeSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 2 * 3_600) return `${Math.round(seconds / 60)} min`;
  return seconds < 2 * DAY_SECONDS ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / DAY_SECONDS)} days`;
}

/** Two digits behind the point: more would say more than is known. */
const round = (value: number): number => Math.round(value * 100) / 100;

const BUCKET_MS = 5 * 60_000;
const WINDOW_MS = 7 * 24 * 3_600_000;

interface Bucket {
  readonly beganMs: number;
  allocations: number;
  releases: number;
}

/** How many claims of a pool have come and gone since this replica counts, or the pool is there, a week at most. */
export class Rates {
  readonly #clock: Clock;
  /** The newest last; none for times in which nothing came or went. */
  readonly #buckets = new Map<string, Bucket[]>();
  #beganMs: number | undefined;
  /** When pools came that were not there at the beginning. */
  readonly #cameMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From now on changes are counted: what was there before came at an unknown time. */
  begin(): void {
    this.#beganMs ??= this.#clock.monotonicMs();
  }

  /** Claims of the pool can come from now on. */
  know(pool: string): void {
    if (this.#beganMs !== undefined) this.#cameMs.set(pool, this.#clock.monotonicMs());
  }

  count(change: "allocations" | "releases", mac: Mac, pools: readonly Pool[]): void {
    if (this.#beganMs === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    for (const pool of pools) {
      if (!pool.has(mac)) continue;
      const buckets = this.#current(pool.name, nowMs);
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
    const windowMs = Math.min(WINDOW_MS, nowMs - (this.#cameMs.get(pool) ?? this.#beganMs ?? nowMs));
    return { ...sum, windowSeconds: Math.floor(windowMs / 1000) };
  }

  forget(pool: string): void {
    this.#buckets.delete(pool);
    this.#cameMs.delete(pool);
  }

  #current(pool: string, nowMs: number): Bucket[] {
    const buckets = this.#buckets.get(pool) ?? [];
    this.#buckets.set(pool, buckets);
    while (buckets[0] !== undefined && nowMs - buckets[0].beganMs > WINDOW_MS) buckets.shift();
    return buckets;
  }
}
