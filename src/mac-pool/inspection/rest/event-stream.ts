/**
 * Server-sent events out of the bytes of an answer, by the rules of the HTML standard, 9.2.6. For the command line and the page:
 * EventSource of browsers sends no headers, so it can't carry a token.
 */

export interface ServerSentEvent {
  /** The last `id` that was sent, in this event or before. */
  readonly id: string;
  readonly data: string;
}

/** Longest event; one view is some KB. */
const MAX_EVENT_CHARS = 4 * 1024 * 1024;

export class EventStreamDecoder {
  readonly #decoder = new TextDecoder();
  #rest = "";
  #data: string[] = [];
  #dataChars = 0;
  #id = "";

  /** The events that end in this piece. Pieces may be cut anywhere. Throws where an event does not end. */
  push(piece: Uint8Array): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    const whole = this.#rest + this.#decoder.decode(piece, { stream: true });
    // A CR at the end may be the first half of CRLF.
    const end = whole.endsWith("\r") ? whole.length - 1 : whole.length;
    const lines = whole.slice(0, end).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + whole.slice(end);
    for (const line of lines) {
      if (line !== "") this.#field(line);
      else if (this.#data.length > 0) {
        events.push({ id: this.#id, data: this.#data.splice(0).join("\n") });
        this.#dataChars = 0;
      }
    }
    if (this.#rest.length + this.#dataChars > MAX_EVENT_CHARS) {
      throw new Error(`an event of the watch exceeds ${MAX_EVENT_CHARS} characters`);
    }
    return events;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") {
      this.#data.push(value);
      this.#dataChars += value.length + 1;
    } else if (name === "id" && !value.includes("\0")) this.#id = value;
  }
}
