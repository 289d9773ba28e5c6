/**
 * An inclusive range of MAC addresses, compared as 48-bit numbers.
 * The refusal texts are read by existing clusters and suites, so they are kept to the letter.
 */

import { firstOctet, formatMac, isMulticast, type Mac, parseMac } from "./mac.ts";

export interface MacRange {
  readonly start: Mac;
  readonly end: Mac;
}

/** What texts call the two ends. */
export interface RangeNames {
  readonly start: string;
  readonly end: string;
  readonly setStart: string;
  readonly setEnd: string;
}

/** Of NetworkAddonsConfig. CNAO's texts do not quote the value. */
export const CNAO_NAMES: RangeNames = {
  start: "rangeStart",
  end: "rangeEnd",
  setStart: "RangeStart",
  setEnd: "RangeEnd",
};

export const POOL_NAMES: RangeNames = { start: "start", end: "end", setStart: "start", setEnd: "end" };

export type RangeResult =
  | { readonly ok: true; readonly range: MacRange }
  | { readonly ok: false; readonly reason: string };

/**
 * Reads both ends in any MAC notation. Refused: a wrong syntax, a multicast end, the all-zero address, an end below its start.
 * Multicast addresses between two unicast ends are for the pool to skip. `allowSingle: false` also refuses a range of one address.
 */
export function parseRange(
  ends: { readonly rangeStart: string; readonly rangeEnd: string },
  options: { readonly allowSingle?: boolean; readonly names?: RangeNames } = {},
): RangeResult {
  const names = options.names ?? CNAO_NAMES;
  const start = parseMac(ends.rangeStart);
  const end = parseMac(ends.rangeEnd);
  if (start === undefined) return refused(notAMac(names.start, ends.rangeStart, names));
  if (end === undefined) return refused(notAMac(names.end, ends.rangeEnd, names));
  const allowSingle = options.allowSingle ?? true;
  const showEnds = `start: ${formatMac(start)} end: ${formatMac(end)}`;
  if (end < start || (end === start && !allowSingle)) return refused(`${wrongOrderText(allowSingle)} ${showEnds}`);
  if (isMulticast(start)) return refused(`failed to set ${names.setStart}: ${multicastReason(start)}`);
  if (isMulticast(end)) return refused(`failed to set ${names.setEnd}: ${multicastReason(end)}`);
  if (start === 0)
    return refused(`failed to set ${names.setStart}: invalid mac address. The all-zero address cannot be used`);
  return { ok: true, range: { start, end } };
}

/** `lesser than or equal to` is CNAO's text; it would be wrong where a range may hold a single address. */
export function wrongOrderText(allowSingle: boolean): string {
  const relation = allowSingle ? "less than" : "lesser than or equal to";
  return `failed to set mac address range: invalid range. Range end is ${relation} its start.`;
}

/** Number of addresses; both ends count. */
export function rangeSize(range: MacRange): number {
  return range.end - range.start + 1;
}

export function rangeContains(range: MacRange, mac: Mac): boolean {
  return mac >= range.start && mac <= range.end;
}

/** `02:5d:1c:00:00:00-02:5d:1c:ff:ff:ff`, canonical on both sides. */
export function formatRange(range: MacRange): string {
  return `${formatMac(range.start)}-${formatMac(range.end)}`;
}

/** Inverse of formatRange. */
export function parseRangeText(text: string): MacRange | undefined {
  const [rangeStart, rangeEnd, ...rest] = text.split("-");
  if (rangeStart === undefined || rangeEnd === undefined || rest.length > 0) return undefined;
  const parsed = parseRange({ rangeStart, rangeEnd });
  return parsed.ok ? parsed.range : undefined;
}

/** In order; those that overlap or touch are one. */
export function mergeRanges(ranges: readonly MacRange[]): MacRange[] {
  const merged: MacRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && range.start <= last.end + 1) {
      merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, range.end) as Mac };
    } else {
      merged.push(range);
    }
  }
  return merged;
}

function notAMac(name: string, text: string, names: RangeNames): string {
  const what = names === CNAO_NAMES ? name : `${name} ${JSON.stringify(text)}`;
  return `failed to parse ${what} because the mac address is invalid`;
}

function multicastReason(mac: Mac): string {
  return (
    "invalid mac address. Multicast addressing is not supported. Unicast addressing must be used. " +
    `The first octet is 0X${firstOctet(mac).toString(16).toUpperCase()}`
  );
}

function refused(reason: string): RangeResult {
  return { ok: false, reason };
}
