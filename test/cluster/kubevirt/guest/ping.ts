/**
 * `ping.ts ADDRESS COUNT`, run inside a guest: does the other guest answer? A TCP SYN to a port nobody listens on is
 * answered by the other kernel with a reset, which needs no program there, no raw socket and no privilege here; the
 * machine may lack ping(8). Prints one line of JSON, see ping-result.ts.
 */
import { connect } from "node:net";
import { stdout } from "node:process";
import type { PingResult } from "./ping-result.ts";

const [address = "", count = "3"] = process.argv.slice(2);
const CLOSED_PORT = 9;
const ANSWER_LIMIT_MS = 3000;

/** Round-trip time in ms, or undefined when no answer came. */
function ping(): Promise<number | undefined> {
  return new Promise((resolve) => {
    const startedMs = performance.now();
    const socket = connect({ host: address, port: CLOSED_PORT });
    const end = (ms: number | undefined): void => {
      clearTimeout(limit);
      socket.destroy();
      resolve(ms);
    };
    const limit = setTimeout(() => end(undefined), ANSWER_LIMIT_MS);
    socket.on("connect", () => end(performance.now() - startedMs));
    socket.on("error", (error: NodeJS.ErrnoException) =>
      end(error.code === "ECONNREFUSED" ? performance.now() - startedMs : undefined),
    );
  });
}

const answers: (number | undefined)[] = [];
for (let sent = 0; sent < Number(count); sent++) answers.push(await ping());
const times = answers.filter((ms) => ms !== undefined);
const result: PingResult = {
  sent: answers.length,
  received: times.length,
  fastestMs: times.length === 0 ? null : Math.min(...times),
};
stdout.write(`${JSON.stringify(result)}\n`);
