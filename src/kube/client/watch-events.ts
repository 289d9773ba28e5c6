import { ConnectionError } from "./api-error.ts";
import type { WatchEvent } from "./call-options.ts";

/** etcd refuses objects above 1.5 MB by default; a watch event is one object. */
export const MAX_EVENT_BYTES = 64 * 1024 * 1024;

const LINE_FEED = 10;
const MAX_QUOTED_CHARS = 80;

/** The events of a watch, as many at once as have come. What came before a line that is not JSON is given out first. */
export async function* watchEvents<T>(
  chunks: AsyncIterable<Buffer>,
  request: string,
): AsyncGenerator<WatchEvent<T>[], void> {
  for await (const lines of watchLines(chunks, request)) {
    const events: WatchEvent<T>[] = [];
    try {
      for (const line of lines) {
        events.push(parseJson<WatchEvent<T>>(line, request));
      }
    } catch (error) {
      yield events;
      throw error;
    }
    yield events;
  }
}

/** A stream that ends inside a line was cut: that is a `ConnectionError`, never a half event. */
async function* watchLines(chunks: AsyncIterable<Buffer>, request: string): AsyncGenerator<string[], void> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const rest = chunk.subarray(start, end);
      start = end + 1;
      const line = pendingBytes === 0 ? rest : Buffer.concat([...pending, rest]);
      pending = [];
      pendingBytes = 0;
      if (line.length > 0) {
        lines.push(line.toString("utf8"));
      }
    }
    if (lines.length > 0) {
      yield lines;
    }
    if (start < chunk.length) {
      pending.push(start === 0 ? chunk : chunk.subarray(start));
      pendingBytes += chunk.length - start;
      if (pendingBytes > MAX_EVENT_BYTES) {
        throw new ConnectionError(`${request}: an event is longer than ${MAX_EVENT_BYTES} bytes`, { written: true });
      }
    }
  }
  if (pendingBytes > 0) {
    throw new ConnectionError(`${request}: the watch was cut in the middle of an event`, { written: true });
  }
}

export function parseJson<A>(text: string, request: string): A {
  try {
    return JSON.parse(text) as A;
  } catch (cause) {
    const quoted = text.slice(0, MAX_QUOTED_CHARS);
    throw new ConnectionError(`${request}: the answer is not JSON: ${quoted}`, { written: true, cause });
  }
}
