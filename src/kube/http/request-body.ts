import type { IncomingMessage } from "node:http";
import { HttpError } from "./http-handler.ts";

/** Reads a request's body. Stops at the limit without reading the rest. */
export async function readBody(incoming: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const announced = Number(incoming.headers["content-length"] ?? 0);
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  if (announced <= maxBytes) {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes) {
        break;
      }
    }
  }
  if (announced > maxBytes || sizeBytes > maxBytes) {
    throw new HttpError(413, `the body is longer than ${maxBytes} bytes`);
  }
  return Buffer.concat(chunks, sizeBytes);
}
