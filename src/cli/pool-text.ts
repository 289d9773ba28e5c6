import { forecastText, fullInText, NEARLY_FULL, rateText } from "../api/forecast-text.ts";
import { STATIONS } from "../api/host-interfaces.ts";
import type { PoolView, RangeView } from "../mac-pool/inspection/rest/views.ts";
import { withCommas } from "./quantities.ts";
import { formatFields } from "./table.ts";
import { bar, painted, type Terminal } from "./terminal.ts";

/** How full a pool is, in words. */

const BAR = 20;
/** What a line of the field `ranges` has besides its bar. */
const BAR_MARGIN = 66;

/** `11 (91.7 %)` */
export function usedText({ used, capacity }: Pick<PoolView, "used" | "capacity">): string {
  return `${withCommas(used)}${percent(used, capacity)}`;
}

/** All that is known of a pool. */
export function describePool(pool: PoolView, terminal: Terminal): string {
  const { name, capacity, pending, quarantined, used, outOfRange } = pool;
  const bound = used - pending - quarantined;
  const fields: [string, string][] = [
    ["ranges", pool.ranges.map((range) => rangeLine(range, terminal)).join("\n") || "none in force"],
    ["exclusions", pool.exclusions.join("\n") || "none"],
    ["capacity", withCommas(capacity)],
    [
      "used",
      `${usedText(pool)}: ${withCommas(bound)} bound, ${withCommas(pending)} pending, ${withCommas(quarantined)} quarantined`,
    ],
    ["free", freeText(pool)],
    ["full in", fullIn(pool)],
    ["a day", rateText(pool.rate)],
    ["out of range", withCommas(outOfRange)],
    ["conflicts", conflictsText(pool, terminal)],
    ["policy", policyText(pool)],
    ["serves", pool.serves],
  ];
  return `MACPool ${painted(terminal, "bold", name)}\n${formatFields(fields, terminal)}`;
}

function freeText({ free, hostAddresses = 0 }: PoolView): string {
  if (hostAddresses === 0) return withCommas(free);
  return `${withCommas(free)}; ${withCommas(hostAddresses)} more are in use by nodes or ${STATIONS}`;
}

function fullIn(pool: PoolView): string {
  const { days, atLeast, atMost, reason } = pool.daysToFull;
  const text = days === null || pool.free === 0 ? fullInText(pool) : forecastText({ days, atLeast, atMost });
  return `${text}. ${reason}`;
}

function policyText({
  conflictPolicy,
  conflictScope,
  quarantineSeconds,
  explicitAddresses = "Anywhere",
}: PoolView): string {
  const scope = conflictScope === "Network" ? " on each network" : "";
  const explicit = explicitAddresses === "Anywhere" ? "" : `, explicit addresses ${explicitAddresses}`;
  return `${conflictPolicy}${scope}, quarantine ${quarantineSeconds} s${explicit}`;
}

function conflictsText({ conflicts, hostConflicts = 0 }: PoolView, terminal: Terminal): string {
  const number = (value: number): string => (value > 0 ? painted(terminal, "red", withCommas(value)) : "0");
  return hostConflicts === 0 ? number(conflicts) : `${number(conflicts)}, and ${number(hostConflicts)} with nodes`;
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
