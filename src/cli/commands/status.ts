import { forecastText } from "../../api/forecast-text.ts";
import { STATIONS } from "../../api/host-interfaces.ts";
import type { PoolView, RangeView } from "../../mac-pool/inspection/rest/views.ts";
import type { CommandSpec } from "../command.ts";
import { noArguments } from "../command-line.ts";
import { spanInWords, withCommas } from "../quantities.ts";
import { formatFields } from "../table.ts";
import { bar, painted, type Terminal, wrapped } from "../terminal.ts";
import { formatList, poolNameOf } from "../views-text.ts";

export const status: CommandSpec = {
  name: "status",
  summary: "how full each pool is, and its problems",
  details: [
    "-o wide adds exclusions, the rate of allocations and what the forecast rests on. Ends with 1 where a pool has a problem.",
  ],
  run: async ({ line, ask, terminal }) => {
    noArguments(line);
    const pools = await ask((backend) => backend.pools());
    const problems = pools.flatMap(problemsOf);
    const exitCode = problems.length > 0 || pools.length === 0 ? 1 : 0;
    const formatted = formatList(line, pools, poolNameOf);
    if (formatted !== undefined) return { stdout: formatted, exitCode };
    if (pools.length === 0) {
      return { stdout: "", stderr: "there is no MACPool: set kubeMacPool in NetworkAddonsConfig cluster", exitCode };
    }
    const wide = line.options.output === "wide";
    const verdict =
      problems.length === 0
        ? "No problems.\n"
        : problems.map((text) => painted(terminal, "red", wrapped(terminal, `Problem: ${text}`, 0))).join("");
    return { stdout: `${pools.map((pool) => describePool(pool, terminal, wide)).join("\n")}\n${verdict}`, exitCode };
  },
};

function problemsOf(pool: PoolView): string[] {
  const { name, problem, conflicts, hostConflicts = 0, hostAddressPolicy, capacity, free } = pool;
  const shared = conflicts === 1 ? "1 address has" : `${conflicts} addresses have`;
  const ofNodes =
    hostConflicts === 1
      ? "1 address of its objects is also the address of a node"
      : `${hostConflicts} addresses of its objects are also addresses of nodes`;
  const isConflict = hostConflicts > 0 && hostAddressPolicy !== "Off";
  const isFull = problem === undefined && capacity > 0 && free === 0;
  return [
    ...(problem === undefined ? [] : [`MACPool ${name}: ${problem}`]),
    ...(isFull ? [`MACPool ${name}: the range is full: add a range to spec.ranges`] : []),
    ...(conflicts > 0 ? [`MACPool ${name}: ${shared} more than one owner: see kubectl macpool collisions -A`] : []),
    ...(isConflict ? [`MACPool ${name}: ${ofNodes}: see kubectl macpool doctor`] : []),
  ];
}

const BAR = 20;
/** What a line of the field `ranges` has besides its bar. */
const BAR_MARGIN = 66;
/** What a day is like is not seen in minutes. */
const MIN_WINDOW_SECONDS = 3_600;
/** From this share on a pool is nearly full, as in the alert KubemacpoolNearlyFull. */
const NEARLY_FULL = 0.9;

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

function describePool(pool: PoolView, terminal: Terminal, wide: boolean): string {
  const { name, used, capacity, pending, quarantined, free, hostAddresses = 0, outOfRange, rate } = pool;
  const bound = used - pending - quarantined;
  const fields: [string, string][] = [
    ["ranges", pool.ranges.map((range) => rangeLine(range, terminal)).join("\n") || "none in force"],
    ["capacity", withCommas(capacity)],
    [
      "used",
      `${withCommas(used)}${percent(used, capacity)}: ${withCommas(bound)} bound, ${withCommas(pending)} pending, ${withCommas(quarantined)} quarantined`,
    ],
    [
      "free",
      `${withCommas(free)}${hostAddresses === 0 ? "" : `, without ${withCommas(hostAddresses)} that nodes or ${STATIONS} have`}`,
    ],
    ["full in", fullIn(pool)],
    ["out of range", String(outOfRange)],
    ["conflicts", conflictsText(pool, terminal)],
    ["policy", policyText(pool)],
    ["serves", pool.serves],
  ];
  const more: [string, string][] = [
    ["exclusions", pool.exclusions.join("\n") || "none"],
    ["a day", rateText(rate)],
    ["forecast", pool.daysToFull.reason],
  ];
  return `MACPool ${painted(terminal, "bold", name)}\n${formatFields(wide ? [...fields, ...more] : fields)}`;
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

function fullIn({ capacity, free, daysToFull: { days, atLeast, atMost, reason } }: PoolView): string {
  if (capacity > 0 && free === 0) return "it is full";
  return days === null ? `no forecast. ${reason}` : forecastText({ days, atLeast, atMost });
}

function rateText({ allocationsPerDay, releasesPerDay, windowSeconds }: PoolView["rate"]): string {
  const how = `counted for ${spanInWords(windowSeconds * 1000)}`;
  if (windowSeconds < MIN_WINDOW_SECONDS) return `not known: ${how} only`;
  return `${round(allocationsPerDay)} allocated, ${round(releasesPerDay)} released (${how})`;
}

function round(number: number): string {
  return withCommas(Math.round(number * 10) / 10);
}
