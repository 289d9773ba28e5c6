/** How full a pool is and when it will be, on the command line and on the page. Pure. */

const NUMBER = new Intl.NumberFormat("en");

/** A forecast beyond this says nothing. */
const FAR_DAYS = 3_650;
const HOUR_DAYS = 1 / 24;

/** From this share on a pool is nearly full, as in the alert KubemacpoolNearlyFull. */
export const NEARLY_FULL = 0.9;

/** From 0 to 1; what nodes and stations outside the cluster have is taken too. */
export function fullnessOf({ capacity, free }: { readonly capacity: number; readonly free: number }): number {
  return capacity === 0 ? 0 : (capacity - free) / capacity;
}

interface Filling {
  readonly capacity: number;
  readonly free: number;
  readonly daysToFull: { readonly days: number | null };
}

/** `about 1 day`, `now`, `no forecast`: what follows `full in`. */
export function fullInText({ capacity, free, daysToFull: { days } }: Filling): string {
  if (capacity > 0 && free === 0) return NOW;
  return days === null ? NO_FORECAST : forecastText({ days, atLeast: null, atMost: null });
}

const NO_FORECAST = "no forecast";

const NOW = "now";

/** The same as a sentence has it: `full in about 1 day`, `full now`, `no forecast`. */
export function whenFullText(pool: Filling): string {
  const text = fullInText(pool);
  return text === NO_FORECAST ? text : `full ${text === NOW ? text : `in ${text}`}`;
}

/** What a day is like is not seen in minutes. */
export const MIN_WINDOW_SECONDS = 3_600;

interface Rate {
  readonly allocationsPerDay?: number;
  readonly releasesPerDay?: number;
  readonly windowSeconds: number;
}

/** Whether what was counted says what a day is like. */
export function isMeasured(rate: Rate): rate is Required<Rate> {
  return rate.windowSeconds >= MIN_WINDOW_SECONDS;
}

/** `211.4 allocated, 127.1 released (counted for 7 days)`, of a day. Why it is not known yet, the forecast says. */
export function rateText(rate: Rate): string {
  if (!isMeasured(rate)) return "not known yet";
  const { allocationsPerDay, releasesPerDay, windowSeconds } = rate;
  const how = `counted for ${secondsInWords(windowSeconds)}`;
  return `${rounded(allocationsPerDay)} allocated, ${rounded(releasesPerDay)} released (${how})`;
}

const rounded = (number: number): string => NUMBER.format(Math.round(number * 10) / 10);

const SPANS: readonly (readonly [number, string])[] = [
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
];

/** `3 days`, `1 hour`, `2 minutes`, `12 seconds` */
export function secondsInWords(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  for (const [length, name] of SPANS) if (whole >= length) return counted(Math.floor(whole / length), name);
  return counted(whole, "second");
}

interface Forecast {
  readonly days: number;
  /** The ends of its interval; null where there is none. */
  readonly atLeast: number | null;
  readonly atMost: number | null;
}

/** `about 40 days (between 31 and 62 days)`, `more than 10 years`, `less than an hour`. */
export function forecastText({ days, atLeast, atMost }: Forecast): string {
  if (days > FAR_DAYS || days < HOUR_DAYS) return inDays(days);
  const from = atLeast === null || atLeast < HOUR_DAYS ? undefined : inDays(atLeast);
  const to = atMost === null || atMost > FAR_DAYS ? undefined : inDays(atMost);
  return `about ${inDays(days)}${interval(from, to)}`;
}

function interval(from: string | undefined, to: string | undefined): string {
  if (from !== undefined && to !== undefined) return ` (between ${withoutSameUnit(from, to)} and ${to})`;
  if (from !== undefined) return ` (at least ${from})`;
  return to === undefined ? "" : ` (at most ${to})`;
}

function withoutSameUnit(from: string, to: string): string {
  const [number = "", unit] = from.split(" ");
  return to.endsWith(` ${unit}`) ? number : from;
}

function inDays(days: number): string {
  if (days > FAR_DAYS) return `more than ${FAR_DAYS / 365} years`;
  if (days < HOUR_DAYS) return "less than an hour";
  if (days < 1) return counted(Math.round(days / HOUR_DAYS), "hour");
  return counted(days < 10 ? Math.round(days * 10) / 10 : Math.round(days), "day");
}

function counted(count: number, unit: string): string {
  return `${NUMBER.format(count)} ${unit}${count === 1 ? "" : "s"}`;
}
