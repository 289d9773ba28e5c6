import { createGunzip } from "node:zlib";
import { ConnectionError } from "./api-error.ts";
import type { TransportResponse } from "./transport.ts";

/**
 * The answer with its body decompressed. The API server compresses only what asks for it and never watches, but proxies
 * in between have been seen to compress anything.
 */
export function decompressed(response: TransportResponse, request: string): TransportResponse {
  const encoding = response.headers["content-encoding"];
  if (encoding === undefined || encoding === "identity") {
    return response;
  }
  if (encoding !== "gzip") {
    return { ...response, body: unknownEncoding(response.body, String(encoding), request) };
  }
  return { ...response, body: gunzipped(response.body, request) };
}

/** What can be decompressed so far comes out at once, so an event is not held back until the next one. */
async function* gunzipped(chunks: AsyncIterable<Buffer>, request: string): AsyncGenerator<Buffer, void> {
  const gunzip = createGunzip();
  const source = chunks[Symbol.asyncIterator]();
  const feeding = feed(source, gunzip);
  feeding.catch((error) => gunzip.destroy(error));
  try {
    for await (const chunk of gunzip) {
      yield chunk as Buffer;
    }
    await feeding;
  } catch (cause) {
    const ours = cause instanceof ConnectionError || !String((cause as { code?: unknown }).code).startsWith("Z_");
    throw ours ? cause : new ConnectionError(`${request}: the compressed answer is damaged`, { written: true, cause });
  } finally {
    gunzip.destroy();
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
  throw new ConnectionError(`${request}: the answer is encoded as ${encoding}, which nobody asked for`, {
    written: true,
  });
}
