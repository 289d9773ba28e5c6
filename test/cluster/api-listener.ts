/** The loopback port at which a cluster's API server is reached from outside its namespaces. */
import { createServer, type Server } from "node:net";

export function listenOnLoopback(): Promise<Server> {
  const { promise, resolve, reject } = Promise.withResolvers<Server>();
  const server = createServer();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", () => resolve(server));
  return promise;
}

export function urlOf(listener: Server): string {
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("The listener has no port");
  return `https://127.0.0.1:${address.port}`;
}
