import type { IncomingMessage } from "node:http";
import { HttpError } from "./http-handler.ts";

/**
 * Reads a request's body. Stops at the limit without reading the rest. By events: an async iteration takes longer than
 * all else that is done for a small request.
 */
export function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLong = (): void => reject(new HttpError(413, `the body is longer than ${maxBytes} bytes`));
    if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) return tooLong();
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    incoming.on("data", (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      incoming.pause();
      tooLong();
    });
    incoming.on("end", () => {
      const [first] = chunks;
      resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks, sizeBytes));
    });
    incoming.on("error", reject);
  });
}
