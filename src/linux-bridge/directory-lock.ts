import { once } from "node:events";
import { stat } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { errorCode } from "./host-file.ts";

/**
 * One installer at a time in a directory of the node: of two that read the manifest and write it, one would lose what the
 * other one listed, whose files then look like somebody else's.
 * The lock is an abstract Unix socket, which all pods in the node's network namespace share, named by the directory's
 * inode. The kernel gives it back when its holder ends, in whatever way.
 */

/** A pass takes milliseconds. Beside whoever keeps the lock for longer, files are repaired without it. */
const WAIT_MS = 10_000;

/** As often as others may come first; a socket that nobody answers at must not be asked for ever. */
const MAX_ATTEMPTS = 100;

interface Lock {
  release(): void;
}

/** Without the lock where it can't be had: for too long, or because sockets are forbidden. */
export async function withDirectoryLock<T>(
  directory: string,
  action: () => Promise<T>,
  waitMs: number = WAIT_MS,
): Promise<T> {
  const lock = await lockOf(directory, waitMs).catch(() => undefined);
  try {
    return await action();
  } finally {
    lock?.release();
  }
}

async function lockOf(directory: string, waitMs: number): Promise<Lock | undefined> {
  const { dev, ino } = await stat(directory);
  const address = `\0cluster-network-addons/installer/${dev}:${ino}`;
  const signal = AbortSignal.timeout(waitMs);
  for (let attempt = 0; attempt < MAX_ATTEMPTS && !signal.aborted; attempt++) {
    const lock = await listenAt(address);
    if (lock !== undefined) return lock;
    await endOfHolder(address, signal);
  }
  return undefined;
}

/** Undefined while another one listens there. */
async function listenAt(address: string): Promise<Lock | undefined> {
  const waiting = new Set<Socket>();
  const server = createServer((socket) => {
    waiting.add(socket);
    socket.on("error", () => undefined).on("close", () => waiting.delete(socket));
  });
  server.on("error", () => undefined);
  try {
    await once(server.listen(address), "listening");
  } catch (error) {
    if (errorCode(error) === "EADDRINUSE") return undefined;
    throw error;
  }
  return {
    release: () => {
      server.close();
      for (const socket of waiting) socket.destroy();
    },
  };
}

async function endOfHolder(address: string, signal: AbortSignal): Promise<void> {
  const socket = connect(address).on("error", () => undefined);
  try {
    await once(socket.resume(), "close", { signal });
  } catch {
    // Waited long enough.
  } finally {
    socket.destroy();
  }
}
