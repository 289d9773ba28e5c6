/**
 * Cuts `metadata.managedFields` out of JSON before it is parsed. They are about half the bytes of a small object and much
 * more of the time to parse it (many small objects with odd keys), and an informer throws them away. Anything that does
 * not look as expected is left as it is, for the parser to judge.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

const METADATA = Buffer.from('"metadata":');
const MANAGED_FIELDS = Buffer.from('"managedFields":[');

/** Depth of the fields of `metadata` in an object, of `object.metadata` in a watch event, of `items[].metadata` in a list. */
export const OBJECT_DEPTH = 2;
export const EVENT_DEPTH = 3;
export const LIST_DEPTH = 4;

/** `depth` is how many brackets are open around the field. */
export function withoutManagedFields(json: Buffer, depth: number): Buffer {
  if (!json.includes(MANAGED_FIELDS)) {
    return json;
  }
  const kept: Buffer[] = [];
  let keptTo = 0;
  let open = 0;
  let inMetadata = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      if (inMetadata && open === depth && startsWith(json, at, MANAGED_FIELDS)) {
        const end = endOfValue(json, at + MANAGED_FIELDS.length - 1);
        const [from, to] = withOneComma(json, at, end);
        kept.push(json.subarray(keptTo, from));
        keptTo = to;
        at = to - 1;
        if (depth === EVENT_DEPTH) {
          break;
        }
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
    }
  }
  if (keptTo === 0) {
    return json;
  }
  kept.push(json.subarray(keptTo));
  return Buffer.concat(kept);
}

/** Where an object ends, and between `from` and `to` what to leave out of it. */
export interface Cut {
  readonly from: number;
  readonly to: number;
  readonly end: number;
}

/** The object that begins at `start`; undefined when its end is not there. With `whole` nothing is left out. */
export function cutManagedFields(json: Buffer, start: number, depth: number, whole: boolean): Cut | undefined {
  let open = 0;
  let inMetadata = false;
  let hole: [number, number] | undefined;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      if (inMetadata && open === depth && !whole && startsWith(json, at, MANAGED_FIELDS)) {
        hole = withOneComma(json, at, endOfValue(json, at + MANAGED_FIELDS.length - 1));
        at = hole[1] - 1;
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
        const [from, to] = hole ?? [at + 1, at + 1];
        return { from, to, end: at + 1 };
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

/** Position of the closing quote. */
export function endOfString(json: Buffer, at: number): number {
  let end = at + 1;
  while (end < json.length && json[end] !== QUOTE) {
    end += json[end] === BACKSLASH ? 2 : 1;
  }
  return end;
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
