import { pipeline } from "node:stream/promises";
import { ConnectionError } from "./api-error.ts";
import type { TransportResponse } from "./transport.ts";

/** Asks for a compressed answer, as lists do (docs/decisions/013). The API server compresses from 128 KiB on. */
export const COMPRESSED = { "accept-encoding": "gzip" } as const;

/** Of a list of 120 MB; with zlib's 16 KiB the client changes threads 14,000 times instead of 1,250, for a quarter more CPU time. */
const OUTPUT_BYTES = 256 * 1024;

/**
 * The body, decompressed while it arrives. The API server never compresses watches, but proxies in between have been
 * seen to compress anything.
 */
export async function* decompressed(
  body: TransportResponse["body"],
  encoding: TransportResponse["headers"][string],
  request: string,
): AsyncGenerator<Buffer, void> {
  if (encoding === undefined || encoding === "identity") {
    yield* body;
    return;
  }
  const source = body[Symbol.asyncIterator]();
  // Whoever gets short answers only never loads it.
  const gunzip = process.getBuiltinModule("node:zlib").createGunzip({ chunkSize: OUTPUT_BYTES });
  try {
    if (encoding !== "gzip") {
      throw new ConnectionError(`${request}: the answer is encoded as ${encoding}, which nobody asked for`, {
        written: true,
      });
    }
    const feeding = pipeline(body, gunzip);
    feeding.catch(() => {});
    yield* gunzip;
    await feeding;
  } catch (cause) {
    const damaged = String((cause as { code?: unknown }).code).startsWith("Z_");
    throw damaged
      ? new ConnectionError(`${request}: the compressed answer is damaged`, { written: true, cause })
      : cause;
  } finally {
    gunzip.destroy();
    await source.return?.();
  }
}

/** All of it in one piece. Throws when it is longer than `maxBytes`. */
export async function collected(body: AsyncIterable<Buffer>, maxBytes: number, request: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > maxBytes) {
      throw new ConnectionError(`${request}: the answer is longer than ${maxBytes} bytes`, { written: true });
    }
  }
  return Buffer.concat(chunks, bytes);
}
