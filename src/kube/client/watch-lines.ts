import { ConnectionError } from "./api-error.ts";

/** etcd refuses objects above 1.5 MB by default; a watch event is one object. */
export const MAX_EVENT_BYTES = 64 * 1024 * 1024;

const LINE_FEED = 10;

/**
 * The lines of a watch. A stream that ends inside a line was cut: that is a `ConnectionError`, never a half event.
 */
export async function* watchLines(chunks: AsyncIterable<Buffer>, request: string): AsyncGenerator<string, void> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const rest = chunk.subarray(start, end);
      start = end + 1;
      const line = pendingBytes === 0 ? rest : Buffer.concat([...pending, rest]);
      pending = [];
      pendingBytes = 0;
      if (line.length > 0) {
        yield line.toString("utf8");
      }
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
