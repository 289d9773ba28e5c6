import { ConnectionError } from "./api-error.ts";
import type { WatchEvent } from "./call-options.ts";
import type { KubeObject } from "./resource.ts";
import { withoutManagedFields } from "./resource.ts";

/** etcd refuses objects above 1.5 MB by default; a watch event is one object. */
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

const LINE_FEED = 10;
const MAX_QUOTED_CHARS = 80;

/** Events that came together, and what ended the watch after them. */
export interface DecodedEvents<T> {
  readonly events: WatchEvent<T>[];
  readonly error?: unknown;
}

/** Turns the bytes of one watch into events, one a line. */
export class WatchDecoder<T extends KubeObject> {
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
    this.#keep(chunk);
    const events: WatchEvent<T>[] = [];
    try {
      if (chunk.includes(LINE_FEED)) {
        for (const line of this.#completeLines()) {
          const event = parseJson<WatchEvent<T>>(line, this.#request);
          events.push(this.#managedFields ? event : { ...event, object: withoutManagedFields(event.object) });
        }
      }
      if (this.#pendingBytes > MAX_EVENT_BYTES) {
        const message = `${this.#request}: an event is longer than ${MAX_EVENT_BYTES} bytes`;
        throw new ConnectionError(message, { written: true });
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

  #completeLines(): string[] {
    const bytes = Buffer.concat(this.#pending);
    const end = bytes.lastIndexOf(LINE_FEED);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#keep(bytes.subarray(end + 1));
    return bytes
      .toString("utf8", 0, end)
      .split("\n")
      .filter((line) => line !== "");
  }

  #keep(piece: Buffer): void {
    if (piece.length > 0) {
      this.#pending.push(piece);
      this.#pendingBytes += piece.length;
    }
  }
}

export function parseJson<A>(json: Buffer | string, request: string): A {
  const text = json.toString();
  try {
    return JSON.parse(text) as A;
  } catch (cause) {
    const quoted = text.slice(0, MAX_QUOTED_CHARS);
    throw new ConnectionError(`${request}: the answer is not JSON: ${quoted}`, { written: true, cause });
  }
}
