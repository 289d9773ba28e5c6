import { ConnectionError } from "./api-error.ts";
import type { WatchEvent } from "./call-options.ts";
import { CLOSE_ARRAY, COMMA, OPEN_ARRAY } from "./json-bytes.ts";
import { cutManagedFieldsOfEvent } from "./without-managed-fields.ts";

/** etcd refuses objects above 1.5 MB by default; a watch event is one object. */
export const MAX_EVENT_BYTES = 64 * 1024 * 1024;

/** Kept for each watch between its parses. */
const MAX_ROOM_BYTES = 64 * 1024;

const LINE_FEED = 10;
const MAX_QUOTED_CHARS = 80;

/** Events that came together, and what ended the watch after them. */
export interface DecodedEvents<T> {
  readonly events: WatchEvent<T>[];
  readonly error?: unknown;
}

/** Turns the bytes of one watch into events. Synchronous: a chunk costs no more turns of the loop than it must. */
export class WatchDecoder<T> {
  readonly #request: string;
  readonly #managedFields: boolean;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #kept: Buffer = Buffer.alloc(0);

  constructor(request: string, managedFields: boolean) {
    this.#request = request;
    this.#managedFields = managedFields;
  }

  /** The events that are complete with this chunk, which is the caller's again then; with an `error` those before it. */
  decode(chunk: Buffer): DecodedEvents<T> {
    const end = chunk.lastIndexOf(LINE_FEED);
    const decoded = end < 0 ? { events: [] } : this.#parse(this.#complete(chunk.subarray(0, end)));
    if (decoded.error !== undefined) {
      return decoded;
    }
    try {
      this.#keep(chunk.subarray(end + 1));
      return decoded;
    } catch (error) {
      return { ...decoded, error };
    }
  }

  /** A stream that ends inside a line was cut: that is a `ConnectionError`, never a half event. */
  end(): void {
    if (this.#pendingBytes > 0) {
      throw new ConnectionError(`${this.#request}: the watch was cut in the middle of an event`, { written: true });
    }
  }

  #complete(end: Buffer): Buffer {
    if (this.#pendingBytes === 0) {
      return end;
    }
    const lines = Buffer.concat([...this.#pending, end]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return lines;
  }

  #keep(piece: Buffer): void {
    if (piece.length === 0) {
      return;
    }
    this.#pending.push(Buffer.from(piece));
    this.#pendingBytes += piece.length;
    if (this.#pendingBytes > MAX_EVENT_BYTES) {
      const message = `${this.#request}: an event is longer than ${MAX_EVENT_BYTES} bytes`;
      throw new ConnectionError(message, { written: true });
    }
  }

  /** All lines as one array, which is parsed in half the time of its elements; one by one where that fails. */
  #parse(lines: Buffer): DecodedEvents<T> {
    const array = this.#room(lines.length + 2);
    let length = 0;
    let count = 0;
    for (const [from, to] of nonEmptyLines(lines)) {
      array[length++] = count++ === 0 ? OPEN_ARRAY : COMMA;
      length += this.#copy(lines, from, to, array, length);
    }
    if (count === 0) {
      return { events: [] };
    }
    array[length++] = CLOSE_ARRAY;
    try {
      const events = parseJson<WatchEvent<T>[]>(array.subarray(0, length), this.#request);
      if (events.length === count) {
        return { events };
      }
    } catch {}
    return this.#parseEach(lines);
  }

  /** The same for each parse: new buffers, freed late, would make the process collect its whole heap every few seconds. */
  #room(bytes: number): Buffer {
    if (bytes > MAX_ROOM_BYTES) {
      return Buffer.allocUnsafe(bytes);
    }
    if (bytes > this.#kept.length) {
      this.#kept = Buffer.allocUnsafe(Math.min(bytes * 2, MAX_ROOM_BYTES));
    }
    return this.#kept;
  }

  #copy(lines: Buffer, from: number, to: number, target: Buffer, at: number): number {
    if (this.#managedFields) {
      return lines.copy(target, at, from, to);
    }
    const cut = cutManagedFieldsOfEvent(lines, from, to);
    const copied = lines.copy(target, at, from, cut.from);
    return copied + lines.copy(target, at + copied, cut.to, to);
  }

  #parseEach(lines: Buffer): DecodedEvents<T> {
    const events: WatchEvent<T>[] = [];
    try {
      for (const [from, to] of nonEmptyLines(lines)) {
        const line = Buffer.allocUnsafe(to - from);
        const length = this.#copy(lines, from, to, line, 0);
        events.push(parseJson(line.subarray(0, length), this.#request));
      }
      return { events };
    } catch (error) {
      return { events, error };
    }
  }
}

function* nonEmptyLines(lines: Buffer): Generator<[number, number]> {
  for (let from = 0; from < lines.length; ) {
    const at = lines.indexOf(LINE_FEED, from);
    const to = at < 0 ? lines.length : at;
    if (to > from) {
      yield [from, to];
    }
    from = to + 1;
  }
}

export function parseJson<A>(json: Buffer, request: string): A {
  const text = json.toString("utf8");
  try {
    return JSON.parse(text) as A;
  } catch (cause) {
    const quoted = text.slice(0, MAX_QUOTED_CHARS);
    throw new ConnectionError(`${request}: the answer is not JSON: ${quoted}`, { written: true, cause });
  }
}
