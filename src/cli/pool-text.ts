import type { PoolView, RangeView } from "../mac-pool/inspection/views.ts";
import { formatFields } from "./table.ts";
import { bar, painted, type Terminal } from "./terminal.ts";
import { spanInWords } from "./time-text.ts";

/** One pool in words. */

const BAR = 20;
/** What a line of the field `ranges` has besides its bar. */
const BAR_MARGIN = 66;
/** A forecast beyond this says nothing. */
const FAR_DAYS = 3_650;
/** From this share on a pool is nearly full, as in the alert KubemacpoolNearlyFull. */
const NEARLY_FULL = 0.9;

export function describePool(pool: PoolView, terminal: Terminal, wide: boolean): string {
  const { name, used, capacity, pending, quarantined, free, outOfRange, conflicts, rate } = pool;
  const bound = used - pending - quarantined;
  const fields: [string, string][] = [
    ["ranges", pool.ranges.map((range) => rangeLine(range, terminal)).join("\n") || "none in force"],
    ["capacity", withCommas(capacity)],
    [
      "used",
      `${withCommas(used)}${percent(used, capacity)}: ${bound} bound, ${pending} pending, ${quarantined} quarantined`,
    ],
    ["free", withCommas(free)],
    ["full in", fullIn(pool)],
    ["out of range", String(outOfRange)],
    ["conflicts", conflicts > 0 ? painted(terminal, "red", String(conflicts)) : "0"],
    [
      "policy",
      `${pool.conflictPolicy}${pool.conflictScope === "Network" ? " on each network" : ""}, quarantine ${pool.quarantineSeconds} s`,
    ],
    ["serves", pool.serves],
  ];
  const more: [string, string][] = [
    ["exclusions", pool.exclusions.join("\n") || "none"],
    [
      "a day",
      `${round(rate.allocationsPerDay)} allocated, ${round(rate.releasesPerDay)} released (counted for ${spanInWords(rate.windowSeconds * 1000)})`,
    ],
    ["forecast", pool.daysToFull.reason],
  ];
  return `MACPool ${painted(terminal, "bold", name)}\n${formatFields(wide ? [...fields, ...more] : fields)}`;
}

function rangeLine({ first, last, used, capacity }: RangeView, terminal: Terminal): string {
  const share = capacity === 0 ? 0 : used / capacity;
  const colour = share >= 1 ? "red" : share >= NEARLY_FULL ? "yellow" : "green";
  const width = Math.min(BAR, (terminal.columns ?? Number.POSITIVE_INFINITY) - BAR_MARGIN);
  const drawn = width < 5 ? "" : `  ${painted(terminal, colour, bar(terminal, share, width))}`;
  return `${first}-${last}${drawn}${percent(used, capacity)}`;
}

function percent(used: number, capacity: number): string {
  if (capacity === 0) return "";
  const share = (100 * used) / capacity;
  return used > 0 && share < 0.1 ? " (<0.1 %)" : ` (${share.toFixed(1)} %)`;
}

function fullIn({ daysToFull: { days, atLeast, atMost, reason } }: PoolView): string {
  if (days === null) return `not known: ${reason}`;
  if (days > FAR_DAYS) return inDays(days);
  const least = atLeast === null ? "" : `at least ${inDays(atLeast)}`;
  const most = atMost === null ? "" : `at most ${inDays(atMost)}`;
  const interval = [least, most].filter((text) => text !== "").join(", ");
  return `about ${inDays(days)}${interval === "" ? "" : ` (${interval})`}`;
}

function inDays(days: number): string {
  if (days > FAR_DAYS) return `more than ${FAR_DAYS / 365} years`;
  const whole = days < 10 ? Math.round(days * 10) / 10 : Math.round(days);
  return `${withCommas(whole)} day${whole === 1 ? "" : "s"}`;
}

function round(number: number): string {
  return String(Math.round(number * 10) / 10);
}

/** `16,777,216`. */
export function withCommas(number: number): string {
  return number.toLocaleString("en-US");
}
