import { ConnectionError } from "./api-error.ts";
import { CLOSE_ARRAY, CLOSE_OBJECT, COMMA, endOfString, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from "./json-bytes.ts";
import type { ListObject } from "./list-page.ts";
import { parseJson } from "./watch-decoder.ts";
import { cutManagedFields, OBJECT_DEPTH } from "./without-managed-fields.ts";

/** Parsed at once: enough to make the parser's start cheap, little enough to leave no gap in other work. */
const BLOCK_BYTES = 256 * 1024;
/** etcd refuses objects above 1.5 MB by default. */
const MAX_OBJECT_BYTES = 64 * 1024 * 1024;

const SPACE = 0x20;
const ITEMS = Buffer.from('"items":[');

/**
 * Turns the bytes of a list into its items while they come, so that a list of any length needs little memory and is
 * parsed while the server is still writing. What is around the items is parsed at the end; so is the whole list where a
 * server writes `"items"` in another way than the API server.
 */
export class ListDecoder<T> {
  readonly #request: string;
  readonly #managedFields: boolean;
  /**
   * The same memory for each block: new buffers, freed late, would make the process collect its whole heap more often.
   * Its first and its last byte are kept for the brackets of the array to parse.
   */
  #room = Buffer.allocUnsafeSlow(2 * BLOCK_BYTES);
  /** Where the bytes end that came and are not parsed yet. */
  #end = 1;
  #wanted = BLOCK_BYTES;
  #part: "head" | "items" | "tail" = "head";
  /** The list up to its items. */
  #head: Buffer = Buffer.alloc(0);

  constructor(request: string, managedFields: boolean) {
    this.#request = request;
    this.#managedFields = managedFields;
  }

  /** The items that are complete and worth parsing. The chunk is the caller's again. */
  decode(chunk: Buffer): readonly T[] {
    if (this.#end + chunk.length >= this.#room.length) {
      const room = Buffer.allocUnsafeSlow(2 * (this.#end + chunk.length));
      this.#room.copy(room, 0, 0, this.#end);
      this.#room = room;
    }
    this.#end += chunk.copy(this.#room, this.#end);
    return this.#end < this.#wanted ? [] : this.#take();
  }

  /** The last items, and what is around them. */
  end(): { readonly items: readonly T[]; readonly metadata: ListObject<T>["metadata"] } {
    const items = this.#take();
    const around = Buffer.concat([this.#head, this.#room.subarray(1, this.#end)]);
    const { items: late, metadata } = parseJson<ListObject<T>>(around, this.#request);
    return { items: late?.length ? late : items, metadata };
  }

  #take(): readonly T[] {
    const bytes = this.#room.subarray(0, this.#end);
    let at = 1;
    if (this.#part === "head") {
      const start = startOfItems(bytes, at);
      if (start !== undefined) {
        this.#head = Buffer.from(bytes.subarray(at, start));
        this.#part = "items";
        at = start;
      }
    }
    if (this.#part === "items") {
      return this.#items(bytes, at);
    }
    this.#wanted = 2 * this.#end;
    return [];
  }

  /** Cut in place: what is parsed moves to the front, and after that what is not complete. */
  #items(bytes: Buffer, from: number): readonly T[] {
    let length = 1;
    let at = from;
    for (;;) {
      at = afterSpace(bytes, at);
      if (bytes[at] === CLOSE_ARRAY) {
        this.#part = "tail";
        break;
      }
      const start = bytes[at] === COMMA ? afterSpace(bytes, at + 1) : at;
      if (start < bytes.length && bytes[start] !== OPEN_OBJECT) {
        throw new ConnectionError(`${this.#request}: the list's items are not JSON objects`, { written: true });
      }
      const cut = cutManagedFields(bytes, start, OBJECT_DEPTH, this.#managedFields);
      if (cut === undefined) {
        break;
      }
      if (length > 1) {
        bytes[length++] = COMMA;
      }
      bytes.copyWithin(length, start, cut.from);
      length += cut.from - start;
      bytes.copyWithin(length, cut.to, cut.end);
      length += cut.end - cut.to;
      at = cut.end;
    }
    const items = length === 1 ? [] : this.#parse(length);
    this.#keep(bytes, at);
    return items;
  }

  #parse(length: number): T[] {
    const room = this.#room;
    const next = room[length] ?? 0;
    room[0] = OPEN_ARRAY;
    room[length] = CLOSE_ARRAY;
    const items = parseJson<T[]>(room.subarray(0, length + 1), this.#request);
    room[length] = next;
    return items;
  }

  /** For the next time, when there must be more of it. */
  #keep(bytes: Buffer, from: number): void {
    bytes.copyWithin(1, from);
    this.#end = 1 + bytes.length - from;
    this.#wanted = Math.max(BLOCK_BYTES, 2 * this.#end);
    if (this.#part === "items" && this.#end > MAX_OBJECT_BYTES) {
      const message = `${this.#request}: an object is longer than ${MAX_OBJECT_BYTES} bytes`;
      throw new ConnectionError(message, { written: true });
    }
  }
}

function afterSpace(block: Buffer, from: number): number {
  let at = from;
  while (at < block.length && (block[at] ?? 0) <= SPACE) {
    at++;
  }
  return at;
}

/** Position after the bracket that opens the list's own `items`. */
function startOfItems(block: Buffer, from: number): number | undefined {
  let open = 0;
  for (let at = from; at < block.length; at++) {
    const byte = block[at];
    if (byte === QUOTE) {
      if (open === 1 && block.subarray(at, at + ITEMS.length).equals(ITEMS)) {
        return at + ITEMS.length;
      }
      at = endOfString(block, at);
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      open++;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      open--;
    }
  }
  return undefined;
}
