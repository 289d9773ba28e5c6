import { promisify } from "node:util";
import { createGunzip, gunzip } from "node:zlib";
import { ConnectionError } from "./api-error.ts";
import type { TransportResponse } from "./transport.ts";

const GZIP = "gzip";
/** Where a gzip file says its original length. */
const LENGTH_BYTES = 4;
const MIN_OUTPUT_BYTES = 64;
/** Of a stream, decompressed at once. */
const OUTPUT_BYTES = 256 * 1024;

/** Asks for a compressed answer. The API server compresses from 128 KiB on. */
export const COMPRESSED = { "accept-encoding": GZIP } as const;

/** The whole body, decompressed beside the main thread and in one piece. */
export async function decompress(
  body: Buffer,
  encoding: TransportResponse["headers"][string],
  { request, maxBytes }: { readonly request: string; readonly maxBytes: number },
): Promise<Buffer> {
  if (isPlain(encoding)) {
    return body;
  }
  if (encoding !== GZIP) {
    throw unknown(String(encoding), request);
  }
  const length = body.length < LENGTH_BYTES ? 0 : body.readUInt32LE(body.length - LENGTH_BYTES);
  // Said by the server: a lie must not make us allocate more than is allowed.
  const chunkSize = Math.min(Math.max(length, MIN_OUTPUT_BYTES), maxBytes);
  try {
    return await gunzipped(body, { chunkSize, maxOutputLength: maxBytes });
  } catch (cause) {
    const why =
      (cause as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE" ? `longer than ${maxBytes} bytes` : "damaged";
    throw new ConnectionError(`${request}: the compressed answer is ${why}`, { written: true, cause });
  }
}

const gunzipped = promisify<Buffer, { chunkSize: number; maxOutputLength: number }, Buffer>(gunzip);

export const isPlain = (encoding: unknown): boolean => encoding === undefined || encoding === "identity";

function unknown(encoding: string, request: string): ConnectionError {
  return new ConnectionError(`${request}: the answer is encoded as ${encoding}, which nobody asked for`, {
    written: true,
  });
}

/**
 * The body of a watch or a long list, decompressed as it comes. The API server never compresses watches, but proxies in
 * between have been seen to compress anything.
 */
export function decompressed(
  body: AsyncIterable<Buffer>,
  encoding: TransportResponse["headers"][string],
  request: string,
): AsyncIterable<Buffer> {
  if (isPlain(encoding)) {
    return body;
  }
  return encoding === GZIP ? gunzippedStream(body, request) : unknownEncoding(body, String(encoding), request);
}

/** What can be decompressed so far comes out at once, so an event is not held back until the next one. */
async function* gunzippedStream(chunks: AsyncIterable<Buffer>, request: string): AsyncGenerator<Buffer, void> {
  const stream = createGunzip({ chunkSize: OUTPUT_BYTES });
  const source = chunks[Symbol.asyncIterator]();
  const feeding = feed(source, stream);
  feeding.catch((error) => stream.destroy(error));
  try {
    for await (const chunk of stream) {
      yield chunk as Buffer;
    }
    await feeding;
  } catch (cause) {
    const ours = cause instanceof ConnectionError || !String((cause as { code?: unknown }).code).startsWith("Z_");
    throw ours ? cause : new ConnectionError(`${request}: the compressed answer is damaged`, { written: true, cause });
  } finally {
    stream.destroy();
    await source.return?.();
  }
}

async function feed(source: AsyncIterator<Buffer>, gunzip: ReturnType<typeof createGunzip>): Promise<void> {
  for (let next = await source.next(); !next.done && !gunzip.destroyed; next = await source.next()) {
    if (!gunzip.write(next.value)) {
      await new Promise<void>((resolve) => {
        const proceed = () => {
          gunzip.off("drain", proceed);
          gunzip.off("close", proceed);
          resolve();
        };
        gunzip.on("drain", proceed);
        gunzip.on("close", proceed);
      });
    }
  }
  gunzip.end();
}

// biome-ignore lint/correctness/useYield: an answer nobody can read has no piece to give
async function* unknownEncoding(
  chunks: AsyncIterable<Buffer>,
  encoding: string,
  request: string,
): AsyncGenerator<Buffer, void> {
  for await (const _ of chunks) {
    break;
  }
  throw unknown(encoding, request);
}
