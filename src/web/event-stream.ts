/**
 * Server-sent events out of the text of an answer. EventSource of browsers sends no headers, so it can't carry a token:
 * the page reads the stream of a fetch instead, by the rules of the HTML standard, 9.2.6.
 */

export interface ServerSentEvent {
  /** The last `id` that was sent, in this event or before. */
  readonly id: string;
  readonly data: string;
}

export class EventStreamDecoder {
  #rest = "";
  #data: string[] = [];
  #id = "";

  /** The events that end in this piece of text. Pieces may be cut anywhere. */
  push(text: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = [];
    const whole = this.#rest + text;
    // A CR at the end may be the first half of CRLF.
    const end = whole.endsWith("\r") ? whole.length - 1 : whole.length;
    const lines = whole.slice(0, end).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + whole.slice(end);
    for (const line of lines) {
      if (line !== "") this.#field(line);
      else if (this.#data.length > 0) events.push({ id: this.#id, data: this.#data.splice(0).join("\n") });
    }
    return events;
  }

  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }
}
