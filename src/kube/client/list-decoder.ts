import { ConnectionError } from "./api-error.ts";
import type { ListObject } from "./list-page.ts";
import { parseJson } from "./watch-decoder.ts";

/** Parsed at once: some milliseconds, so other work goes on in between. */
const BLOCK_BYTES = 256 * 1024;
/** etcd refuses objects above 1.5 MB by default. */
const MAX_OBJECT_BYTES = 64 * 1024 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;
const ITEMS = Buffer.from('"items":[');

/**
 * Turns the bytes of a list into its items while they arrive. 100,000 MACClaims (120 MB) so take at most 350 MB of memory;
 * parsed in one piece they take 770 MB, and nothing else runs for a second.
 *
 * What is around the items is parsed at the end. So is the whole list if a server writes `"items"` in another way than
 * the API server.
 */
export class ListDecoder<T> {
  readonly #request: string;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = BLOCK_BYTES;
  #part: "head" | "items" | "tail" = "head";
  /** The list up to its items. */
  #head: Buffer = Buffer.alloc(0);

  constructor(request: string) {
    this.#request = request;
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
    const around = Buffer.concat([this.#head, ...this.#chunks]);
    const { items: late, metadata } = parseJson<ListObject<T>>(around, this.#request);
    return { items: late?.length ? late : items, metadata };
  }

  #take(): readonly T[] {
    let bytes = Buffer.concat(this.#chunks);
    if (this.#part === "head") {
      const start = startOfItems(bytes);
      if (start !== undefined) {
        this.#head = bytes.subarray(0, start);
        this.#part = "items";
        bytes = bytes.subarray(start);
      }
    }
    if (this.#part !== "items") {
      this.#keep(bytes);
      return [];
    }
    const start = startOfItem(bytes, 0);
    const end = this.#endOfItems(bytes);
    this.#keep(bytes.subarray(end));
    return end > start ? parseJson<T[]>(`[${bytes.toString("utf8", start, end)}]`, this.#request) : [];
  }

  /** Position after the last item that is complete. */
  #endOfItems(bytes: Buffer): number {
    let end = 0;
    for (;;) {
      if (bytes[afterSpace(bytes, end)] === CLOSE_ARRAY) {
        this.#part = "tail";
        return end;
      }
      const start = startOfItem(bytes, end);
      if (start < bytes.length && bytes[start] !== OPEN_OBJECT) {
        throw new ConnectionError(`${this.#request}: the list's items are not JSON objects`, { written: true });
      }
      const next = endOfValue(bytes, start);
      if (next === undefined) {
        return end;
      }
      end = next;
    }
  }

  /** For the next time, when there must be more of it. */
  #keep(bytes: Buffer): void {
    this.#chunks = [bytes];
    this.#bytes = bytes.length;
    this.#wanted = Math.max(BLOCK_BYTES, 2 * bytes.length);
    if (this.#part === "items" && bytes.length > MAX_OBJECT_BYTES) {
      const message = `${this.#request}: an object is longer than ${MAX_OBJECT_BYTES} bytes`;
      throw new ConnectionError(message, { written: true });
    }
  }
}

function afterSpace(json: Buffer, from: number): number {
  let at = from;
  while (at < json.length && (json[at] ?? 0) <= SPACE) {
    at++;
  }
  return at;
}

function startOfItem(json: Buffer, from: number): number {
  const at = afterSpace(json, from);
  return json[at] === COMMA ? afterSpace(json, at + 1) : at;
}

/** Position after the value whose bracket opens at `start`; undefined when its end is not there. */
function endOfValue(json: Buffer, start: number): number | undefined {
  let open = 0;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      at = endOfString(json, at);
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      open++;
    } else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --open === 0) {
      return at + 1;
    }
  }
  return undefined;
}

/** Position after the bracket that opens the list's own `items`. */
function startOfItems(json: Buffer): number | undefined {
  let open = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) {
      if (open === 1 && json.subarray(at, at + ITEMS.length).equals(ITEMS)) {
        return at + ITEMS.length;
      }
      at = endOfString(json, at);
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      open++;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      open--;
    }
  }
  return undefined;
}

/** Position of the closing quote of the string that opens at `at`. */
function endOfString(json: Buffer, at: number): number {
  let end = at + 1;
  while (end < json.length && json[end] !== QUOTE) {
    end += json[end] === BACKSLASH ? 2 : 1;
  }
  return end;
}
