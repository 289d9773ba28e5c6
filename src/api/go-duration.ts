/**
 * Durations as Go programs write them ("24h0m0s", "1.5h", "300ms"): the form of selfSignConfiguration and of the
 * environment variables made from it.
 */

export type DurationResult =
  | { readonly ok: true; readonly durationMs: number }
  | { readonly ok: false; readonly reason: string };

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["\u00b5s", 1e-3],
  ["\u03bcs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** Go keeps durations in 63 bits of nanoseconds. */
const MAX_DURATION_MS = 2 ** 63 / 1e6;

/**
 * Bounds of each duration of selfSignConfiguration, for admission, the operator and the processes that rotate. A certificate
 * has to outlive the seconds in which replicas and API servers learn of the next one.
 */
export const SHORTEST_INTERVAL_MS = 10_000;
export const SHORTEST_INTERVAL = formatGoDuration(SHORTEST_INTERVAL_MS);
export const LONGEST_INTERVAL = "999999h";

export const NUMBER_PATTERN = "([0-9]+([.][0-9]*)?|[.][0-9]+)";
export const UNIT_PATTERN = "(ns|us|\u00b5s|\u03bcs|ms|s|m|h)";
export const GO_DURATION_PATTERN = `^[-+]?(0|(${NUMBER_PATTERN}${UNIT_PATTERN})+)$`;

const short = (digits: number): string => `(0*[0-9]{1,${digits}}([.][0-9]*)?|[.][0-9]+)`;
/**
 * Durations that Go and CEL can hold, in 64 characters: each unit once, the largest first, as Go writes them, or numbers of five
 * digits. Needs GO_DURATION_PATTERN too.
 */
export const BOUNDED_DURATION_PATTERN =
  `^[-+]?((${short(6)}h)?(${short(7)}m)?(${short(9)}s)?(${short(12)}ms)?(${short(15)}(us|\u00b5s|\u03bcs))?(${short(18)}ns)?|` +
  `0|(${short(5)}${UNIT_PATTERN})+)$`;

/** Of a duration in Go's syntax that is longer than LONGEST_INTERVAL, or that only a larger unit makes readable. */
export function isTooLong(text: string): boolean {
  return new RegExp(GO_DURATION_PATTERN).test(text) && !new RegExp(BOUNDED_DURATION_PATTERN).test(text);
}

/** The reason is worded as Go's time.ParseDuration words it. */
export function parseGoDuration(text: string): DurationResult {
  const quoted = JSON.stringify(text);
  const match = /^([+-]?)(.*)$/s.exec(text);
  const negative = match?.[1] === "-";
  let rest = match?.[2] ?? "";
  if (rest === "0") return { ok: true, durationMs: 0 };
  if (rest === "") return { ok: false, reason: `time: invalid duration ${quoted}` };
  let totalMs = 0;
  while (rest !== "") {
    const number = /^(\d+(?:\.\d*)?|\.\d+)/.exec(rest)?.[0];
    if (number === undefined) return { ok: false, reason: `time: invalid duration ${quoted}` };
    rest = rest.slice(number.length);
    const unit = /^[^.\d]*/.exec(rest)?.[0] ?? "";
    if (unit === "") return { ok: false, reason: `time: missing unit in duration ${quoted}` };
    const factor = UNIT_MS.get(unit);
    if (factor === undefined) {
      return { ok: false, reason: `time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}` };
    }
    rest = rest.slice(unit.length);
    totalMs += Number(number) * factor;
  }
  if (totalMs >= MAX_DURATION_MS) return { ok: false, reason: `time: invalid duration ${quoted}` };
  return { ok: true, durationMs: negative ? -totalMs : totalMs };
}

/** `7200000` is "2h0m0s", `1500` is "1.5s", `0` is "0s": the form Go prints. */
export function formatGoDuration(durationMs: number): string {
  const sign = durationMs < 0 ? "-" : "";
  const ms = Math.abs(durationMs);
  if (ms === 0) return "0s";
  if (ms < 1) return `${sign}${ms * 1000}\u00b5s`;
  if (ms < 1000) return `${sign}${ms}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = (ms % 60_000) / 1000;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}
