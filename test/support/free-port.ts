import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";

const FIRST = 10_000;
const given = new Set<number>();

/**
 * A TCP port that nobody has now, on any address, and that this process has not been given before. It lies below the
 * ports of outgoing connections: the kernel could hand one of those out again before somebody listens on it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, firstPortOfConnections());
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

export function firstPortOfConnections(): number {
  return Number.parseInt(readFileSync("/proc/sys/net/ipv4/ip_local_port_range", "utf8"), 10);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, () => server.close(() => resolve(true)));
  });
}
