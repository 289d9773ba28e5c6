/**
 * A loopback address (127.x.y.z) for one control plane, with fixed ports: no other process can take a port between its
 * choice and its use, and any number of control planes run side by side.
 */
import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const ATTEMPTS = 20;

export async function ownLoopbackAddress(ports: readonly number[]): Promise<string> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const address = `127.${randomInt(1, 255)}.${randomInt(0, 256)}.${randomInt(1, 255)}`;
    const free = await Promise.all(ports.map((port) => canListen(address, port)));
    if (free.every(Boolean)) return address;
  }
  throw new Error(`No loopback address has the ports ${ports.join(", ")} free: is something listening on 0.0.0.0?`);
}

function canListen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
