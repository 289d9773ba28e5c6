/**
 * When a pool is full if claims go on coming and going as they did. Allocations and releases are taken for two Poisson
 * processes. The interval of each count is Byar's approximation (Breslow and Day, Statistical Methods in Cancer Research II, 1987);
 * the interval of their difference is recovered from both (MOVER: Zou and Donner, Statistics in Medicine 27, 2008).
 */

import type { DaysToFullView, RateView } from "../rest/views.ts";

/** Of the standard normal distribution: 95 % lie between -Z and Z. */
const Z = 1.959964;
const DAY_SECONDS = 86_400;
/** A window that is shorter tells the reader nothing. */
const MIN_WINDOW_SECONDS = 60;

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
  const perDay = (count: number): number => round(windowSeconds === 0 ? 0 : (count * DAY_SECONDS) / windowSeconds);
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
    const reason = `A forecast takes a minute of counting. This replica has counted for ${windowSeconds} s.`;
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
  if (seconds < 2 * 3_600) return `${Math.round(seconds / 60)} min`;
  return seconds < 2 * DAY_SECONDS ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / DAY_SECONDS)} days`;
}

/** Two digits behind the point: more would say more than is known. */
const round = (value: number): number => Math.round(value * 100) / 100;
