import { ConnectionError } from "./api-error.ts";
import type { WatchEvent } from "./call-options.ts";
import { EVENT_DEPTH, withoutManagedFields } from "./without-managed-fields.ts";

/** etcd refuses objects above 1.5 MB by default; a watch event is one object. */
export const MAX_EVENT_BYTES = 64 * 1024 * 1024;

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

  constructor(request: string, managedFields: boolean) {
    this.#request = request;
    this.#managedFields = managedFields;
  }

  /** The events that are complete with this chunk; with an `error` those before it. */
  decode(chunk: Buffer): DecodedEvents<T> {
    const events: WatchEvent<T>[] = [];
    let start = 0;
    try {
      for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
        const line = this.#line(chunk.subarray(start, end));
        start = end + 1;
        if (line.length > 0) {
          events.push(parseJson(this.#managedFields ? line : withoutManagedFields(line, EVENT_DEPTH), this.#request));
        }
      }
      if (start < chunk.length) {
        this.#keep(start === 0 ? chunk : chunk.subarray(start));
      }
      return { events };
    } catch (error) {
      return { events, error };
    }
  }

  /** A stream that ends inside a line was cut: that is a `ConnectionError`, never a half event. */
  end(): void {
    if (this.#pendingBytes > 0) {
      throw new ConnectionError(`${this.#request}: the watch was cut in the middle of an event`, { written: true });
    }
  }

  #line(rest: Buffer): Buffer {
    if (this.#pendingBytes === 0) {
      return rest;
    }
    const line = Buffer.concat([...this.#pending, rest]);
    this.#pending = [];
    this.#pendingBytes = 0;
    return line;
  }

  #keep(piece: Buffer): void {
    this.#pending.push(piece);
    this.#pendingBytes += piece.length;
    if (this.#pendingBytes > MAX_EVENT_BYTES) {
      const message = `${this.#request}: an event is longer than ${MAX_EVENT_BYTES} bytes`;
      throw new ConnectionError(message, { written: true });
    }
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
