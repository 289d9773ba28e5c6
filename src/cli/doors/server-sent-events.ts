/** `text/event-stream` (HTML Living Standard, 9.2): the fields that inspection sends. */

export interface EventMessage {
  readonly data: string;
  readonly id: string | undefined;
}

/** Longest event; one view is some KB. */
const MAX_EVENT_CHARS = 4 * 1024 * 1024;

/** The messages of a stream; an event that the stream cuts off is left out. Throws for one that does not end. */
export async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<EventMessage> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const events = rest.split(/\r?\n\r?\n/);
    rest = events.pop() ?? "";
    for (const event of events) {
      const message = messageOf(event);
      if (message !== undefined) yield message;
    }
    if (rest.length > MAX_EVENT_CHARS) throw new Error(`an event of the watch exceeds ${MAX_EVENT_CHARS} characters`);
  }
}

/** undefined for a comment. */
function messageOf(event: string): EventMessage | undefined {
  const data: string[] = [];
  let id: string | undefined;
  for (const line of event.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") data.push(value);
    if (field === "id") id = value;
  }
  return data.length === 0 ? undefined : { data: data.join("\n"), id };
}
