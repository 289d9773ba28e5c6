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
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = BLOCK_BYTES;
  #part: "head" | "items" | "tail" = "head";
  /** The list without its items. */
  #envelope: Buffer[] = [];

  constructor(request: string, managedFields: boolean) {
    this.#request = request;
    this.#managedFields = managedFields;
  }

  /** The items that are complete and worth parsing. */
  decode(chunk: Buffer): readonly T[] {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    return this.#bytes < this.#wanted ? [] : this.#take();
  }

  /** The last items, and what is around them. */
  end(): { readonly items: readonly T[]; readonly metadata: ListObject<T>["metadata"] } {
    const items = this.#take();
    const around = Buffer.concat([...this.#envelope, ...this.#chunks]);
    const { items: late, metadata } = parseJson<ListObject<T>>(around, this.#request);
    return { items: late?.length ? late : items, metadata };
  }

  #take(): readonly T[] {
    const block = Buffer.concat(this.#chunks, this.#bytes);
    let at = 0;
    if (this.#part === "head") {
      const start = startOfItems(block);
      if (start === undefined) {
        this.#keep(block);
        return [];
      }
      this.#envelope.push(block.subarray(0, start));
      this.#part = "items";
      at = start;
    }
    if (this.#part === "tail") {
      this.#keep(block);
      return [];
    }
    return this.#items(block, at);
  }

  #items(block: Buffer, from: number): readonly T[] {
    // Cut in place: what is kept moves to the front.
    const text = Buffer.allocUnsafe(block.length - from + 2);
    text[0] = OPEN_ARRAY;
    let length = 1;
    let at = from;
    for (;;) {
      at = afterSpace(block, at);
      if (block[at] === CLOSE_ARRAY) {
        this.#part = "tail";
        break;
      }
      const start = block[at] === COMMA ? afterSpace(block, at + 1) : at;
      if (start < block.length && block[start] !== OPEN_OBJECT) {
        throw new ConnectionError(`${this.#request}: the list's items are not JSON objects`, { written: true });
      }
      const cut = cutManagedFields(block, start, OBJECT_DEPTH, this.#managedFields);
      if (cut === undefined) {
        break;
      }
      if (length > 1) {
        text[length++] = COMMA;
      }
      length += block.copy(text, length, start, cut.from);
      length += block.copy(text, length, cut.to, cut.end);
      at = cut.end;
    }
    this.#keep(block.subarray(at));
    text[length++] = CLOSE_ARRAY;
    return length === 2 ? [] : parseJson<T[]>(text.subarray(0, length), this.#request);
  }

  /** For the next time, when there must be more of it. */
  #keep(rest: Buffer): void {
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#bytes = rest.length;
    this.#wanted = Math.max(BLOCK_BYTES, rest.length * 2);
    if (this.#part === "items" && rest.length > MAX_OBJECT_BYTES) {
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
function startOfItems(block: Buffer): number | undefined {
  let open = 0;
  for (let at = 0; at < block.length; at++) {
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
