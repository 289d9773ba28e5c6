/** Forwards a connection: what comes on one socket goes out on the other, and they end together. */
import type { Socket } from "node:net";

export function pipeSockets(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  one.on("error", () => other.destroy());
  other.on("error", () => one.destroy());
  one.on("close", () => other.destroy());
  other.on("close", () => one.destroy());
}
