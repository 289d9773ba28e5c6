/**
 * Cuts `metadata.managedFields` out of JSON before it is parsed. They are about half the bytes of a small object and much
 * more of the time to parse it (many small objects with odd keys), and an informer throws them away. Anything that does
 * not look as expected is left as it is, for the parser to judge.
 */

import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, endOfString, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./json-bytes.ts";

const METADATA = Buffer.from('"metadata":');
const MANAGED_FIELDS = Buffer.from('"managedFields":[');

/** Brackets open around the fields of `metadata` in an object, of `object.metadata` in a watch event, of `items[].metadata` in a list. */
export const OBJECT_DEPTH = 2;
const EVENT_DEPTH = 3;
const LIST_DEPTH = 4;
const NOWHERE = 0;

/** A list's objects without them. */
export function withoutManagedFields(json: Buffer): Buffer {
  if (!json.includes(MANAGED_FIELDS)) {
    return json;
  }
  const cuts: number[] = [];
  scan(json, 0, LIST_DEPTH, cuts);
  const kept: Buffer[] = [];
  let keptTo = 0;
  for (let index = 0; index < cuts.length; index += 2) {
    kept.push(json.subarray(keptTo, cuts[index]));
    keptTo = cuts[index + 1] ?? json.length;
  }
  if (keptTo === 0) {
    return json;
  }
  kept.push(json.subarray(keptTo));
  return Buffer.concat(kept);
}

/** Where it ends, and between `from` and `to` what to leave out of it. */
export interface Cut {
  readonly from: number;
  readonly to: number;
  readonly end: number;
}

/** The object that begins at `start`; undefined when its end is not there. With `whole` nothing is left out. */
export function cutManagedFields(json: Buffer, start: number, depth: number, whole: boolean): Cut | undefined {
  const cuts: number[] = [];
  const end = scan(json, start, whole ? NOWHERE : depth, cuts);
  if (end === undefined) {
    return undefined;
  }
  const [from = end, to = end] = cuts;
  return { from, to, end };
}

/** The watch event from `start` to `end`, which has one object. */
export function cutManagedFieldsOfEvent(json: Buffer, start: number, end: number): Cut {
  const cuts: number[] = [];
  scan(json, start, EVENT_DEPTH, cuts, 1);
  const [from = end, to = end] = cuts;
  return to > end ? { from: end, to: end, end } : { from, to, end };
}

/**
 * Position after the value that begins at `start`, or undefined when its end is not there. Where each cut begins and
 * ends comes into `cuts`; after `enough` of them the end is not looked for.
 */
function scan(
  json: Buffer,
  start: number,
  depth: number,
  cuts: number[],
  enough = Number.POSITIVE_INFINITY,
): number | undefined {
  let open = 0;
  let inMetadata = false;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      if (inMetadata && open === depth && startsWith(json, at, MANAGED_FIELDS)) {
        const [from, to] = withOneComma(json, at, endOfValue(json, at + MANAGED_FIELDS.length - 1));
        cuts.push(from, to);
        if (cuts.length === enough * 2) {
          return undefined;
        }
        at = to - 1;
      } else {
        at = endOfString(json, at);
      }
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      open++;
      if (open === depth) {
        inMetadata = byte === OPEN_OBJECT && startsWith(json, at - METADATA.length, METADATA);
      }
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      open--;
      if (open === 0) {
        return at + 1;
      }
    }
  }
  return undefined;
}

function startsWith(json: Buffer, at: number, text: Buffer): boolean {
  if (at < 0 || at + text.length > json.length) {
    return false;
  }
  for (let index = 0; index < text.length; index++) {
    if (json[at + index] !== text[index]) {
      return false;
    }
  }
  return true;
}

/** Position after the value whose bracket opens at `at`. */
function endOfValue(json: Buffer, at: number): number {
  let open = 0;
  for (let end = at; end < json.length; end++) {
    const byte = json[end];
    if (byte === QUOTE) {
      end = endOfString(json, end);
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      open++;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      open--;
      if (open === 0) {
        return end + 1;
      }
    }
  }
  return json.length;
}

/** The field with the comma after it, or else the one before it. */
function withOneComma(json: Buffer, from: number, to: number): [number, number] {
  if (json[to] === COMMA) {
    return [from, to + 1];
  }
  return json[from - 1] === COMMA ? [from - 1, to] : [from, to];
}
