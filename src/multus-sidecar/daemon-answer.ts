import type { IncomingMessage } from "node:http";

/** `import` reads every export of a module, and node:http's WebSocket loads Node's own undici: 3 MB in every process. */
const { get } = process.getBuiltinModule("node:http");

const TIMEOUT_MS = 5_000;

/** True if a daemon answers on the socket, or why none does. */
export function askDaemon(socketPath: string): Promise<true | string> {
  const { promise, resolve } = Promise.withResolvers<true | string>();
  const refused = (what: string): void => resolve(`multus-daemon does not answer on its socket: ${what}`);
  const request = get(
    { socketPath, path: "/healthz", timeout: TIMEOUT_MS, agent: false },
    (answer: IncomingMessage) => {
      answer.resume();
      if (answer.statusCode === 200) resolve(true);
      else refused(`status ${answer.statusCode}`);
    },
  );
  request.on("timeout", () => request.destroy(new Error(`nothing within ${TIMEOUT_MS} ms`)));
  request.on("error", (error) => refused(error.message));
  return promise;
}
