import { firstOctet, isMulticast, type Mac, POD_BRIDGE_MAC } from "../../api/mac.ts";
import { formatRange, type MacRange, mergeRanges, rangeContains, rangeSize } from "../../api/mac-range.ts";

/** What a pool's ranges hold and no pool gives out, whatever its exclusions. */
export interface Skipped {
  /** How many multicast addresses. */
  readonly multicast: number;
  /** Whether POD_BRIDGE_MAC. */
  readonly podBridge: boolean;
}

/** Addresses of one first octet. */
const BLOCK = 2 ** 40;
const POD_BRIDGE: MacRange = { start: POD_BRIDGE_MAC, end: POD_BRIDGE_MAC };

/**
 * The addresses of a pool as one dense numbering 0..size-1: its ranges merged where they overlap; cut out are its exclusions,
 * multicast addresses and POD_BRIDGE_MAC. Lookups are O(log number of segments).
 */
export class Segments {
  readonly ranges: readonly MacRange[];
  /** The ranges for people: those that only multicast addresses or POD_BRIDGE_MAC part are one, as they were written. */
  readonly spans: readonly MacRange[];
  readonly size: number;
  readonly skipped: Skipped;
  /** Number of the first address of each range. */
  readonly #firstNumbers: readonly number[];

  constructor(ranges: readonly MacRange[], exclusions: readonly MacRange[] = []) {
    const whole = mergeRanges(ranges);
    const unicast = whole.flatMap(unicastOf);
    this.skipped = {
      multicast: sizeOf(whole) - sizeOf(unicast),
      podBridge: whole.some((range) => rangeContains(range, POD_BRIDGE_MAC)),
    };
    this.ranges = [...exclusions, POD_BRIDGE].reduce(subtract, unicast);
    this.spans = joined(this.ranges);
    let size = 0;
    this.#firstNumbers = this.ranges.map((range) => {
      const first = size;
      size += rangeSize(range);
      return first;
    });
    this.size = size;
  }

  /** Undefined for an address outside. */
  numberOf(mac: Mac): number | undefined {
    const index = lastAtMost(this.ranges, mac, (range) => range.start);
    const range = this.ranges[index];
    const first = this.#firstNumbers[index];
    if (range === undefined || first === undefined || mac > range.end) return undefined;
    return first + (mac - range.start);
  }

  macAt(number: number): Mac {
    const index = lastAtMost(this.#firstNumbers, number, (first) => first);
    const range = this.ranges[index];
    const first = this.#firstNumbers[index];
    if (range === undefined || first === undefined || number >= this.size) {
      throw new RangeError(`address number ${number} is outside a pool of ${this.size}`);
    }
    return (range.start + (number - first)) as Mac;
  }

  has(mac: Mac): boolean {
    return this.numberOf(mac) !== undefined;
  }

  /** Same addresses, however they were written down. */
  equals(other: Segments): boolean {
    return (
      this.ranges.length === other.ranges.length &&
      this.ranges.every((range, index) => {
        const twin = other.ranges[index];
        return twin !== undefined && twin.start === range.start && twin.end === range.end;
      })
    );
  }

  /** Of `spans`, the one that has an address of the pool. */
  spanOf(mac: Mac): MacRange | undefined {
    return this.spans.find((range) => rangeContains(range, mac));
  }

  toString(): string {
    return this.spans.map(formatRange).join(", ");
  }
}

function joined(ranges: readonly MacRange[]): MacRange[] {
  const spans: MacRange[] = [];
  for (const range of ranges) {
    const last = spans.at(-1);
    const gap = last && { start: (last.end + 1) as Mac, end: (range.start - 1) as Mac };
    if (last !== undefined && gap !== undefined && subtract(unicastOf(gap), POD_BRIDGE).length === 0) {
      spans[spans.length - 1] = { start: last.start, end: range.end };
    } else {
      spans.push(range);
    }
  }
  return spans;
}

const sizeOf = (ranges: readonly MacRange[]): number => ranges.reduce((sum, range) => sum + rangeSize(range), 0);

/** Its part in each first octet that is even. */
function unicastOf({ start, end }: MacRange): MacRange[] {
  const parts: MacRange[] = [];
  for (let octet = firstOctet(start); octet <= firstOctet(end); octet++) {
    const part = { start: Math.max(start, octet * BLOCK) as Mac, end: Math.min(end, (octet + 1) * BLOCK - 1) as Mac };
    if (!isMulticast(part.start)) parts.push(part);
  }
  return parts;
}

function subtract(ranges: readonly MacRange[], excluded: MacRange): MacRange[] {
  return ranges.flatMap((range) => {
    if (excluded.end < range.start || excluded.start > range.end) return [range];
    const rest: MacRange[] = [];
    if (excluded.start > range.start) rest.push({ start: range.start, end: (excluded.start - 1) as Mac });
    if (excluded.end < range.end) rest.push({ start: (excluded.end + 1) as Mac, end: range.end });
    return rest;
  });
}

/** Index of the last item whose key is at most `value`, -1 when there is none; items are sorted by key. */
function lastAtMost<T>(items: readonly T[], value: number, key: (item: T) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = items[middle];
    if (item !== undefined && key(item) <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
