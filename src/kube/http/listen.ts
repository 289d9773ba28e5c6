import { once } from "node:events";
import type { Server } from "node:net";

export interface ListenAddress {
  /** 0 for any free port. */
  readonly port: number;
  readonly host?: string | undefined;
}

/** Resolves when the server listens. Rejects with one sentence about a port that can't be had; `cause` is Node's error. */
export async function listenOn(server: Server, { port, host }: ListenAddress): Promise<void> {
  server.listen({ port, ...(host === undefined ? {} : { host }) });
  try {
    await once(server, "listening");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      const message = `Port ${port} is in use (EADDRINUSE): end what listens on it, or give this process another port`;
      throw new Error(message, { cause });
    }
    if (code === "EACCES") {
      throw new Error(`Port ${port} needs root (EACCES): give this process a port above 1023`, { cause });
    }
    if (code === "EADDRNOTAVAIL") {
      const message = `${host} is no address of this machine (EADDRNOTAVAIL): bind port ${port} to another address`;
      throw new Error(message, { cause });
    }
    throw cause;
  }
}
