/** Sends a container's log file: all of it, its last lines, or new lines as they come. */
import { open } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { systemClock } from "../../../src/kube/clock.ts";

export interface LogOptions {
  readonly follow: boolean;
  readonly tailLines?: number;
  /** Following ends when this says no and everything is sent. */
  readonly running: () => boolean;
}

const POLL_MS = 100;
const CHUNK_BYTES = 64 * 1024;

export async function sendLog(response: ServerResponse, path: string, options: LogOptions): Promise<void> {
  try {
    await using file = await open(path);
    let position = options.tailLines === undefined ? 0 : await tailOffset(path, options.tailLines);
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const running = options.running();
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
      position += bytesRead;
      if (bytesRead > 0) response.write(Buffer.from(buffer.subarray(0, bytesRead)));
      if (bytesRead === 0 && (!options.follow || !running || response.destroyed)) break;
      if (bytesRead === 0) await systemClock.sleep(POLL_MS);
    }
    response.end();
  } catch (error) {
    if (!response.headersSent) response.writeHead(404);
    response.end(error instanceof Error ? `${error.message}\n` : undefined);
  }
}

async function tailOffset(path: string, lines: number): Promise<number> {
  await using file = await open(path);
  const text = await file.readFile();
  let end = text.length;
  if (text[end - 1] === NEWLINE) end -= 1;
  for (let seen = 0; seen < lines; seen += 1) {
    const newline = text.lastIndexOf(NEWLINE, end - 1);
    if (newline < 0 || end === 0) return 0;
    end = newline;
  }
  return Math.min(end + 1, text.length);
}

const NEWLINE = 10;
