import type { Server as NodeServer } from "node:http";
import type { ServerOptions } from "../../../src/kube/server/guarded-server.ts";
import { HttpServer } from "../../../src/kube/server/http-server.ts";
import { RouteServer } from "../../../src/kube/server/route-server.ts";

/** A server that answers a POST of `/`. */
export interface Posts {
  readonly server: RouteServer | HttpServer;
  /** Node's own, for its events. */
  readonly node: NodeServer;
}

type Handler = (body: string) => string | Promise<string>;

function webhooks(options: ServerOptions, handler: Handler): Posts {
  const server = new RouteServer(options);
  server.post("/", async ({ body }, answer) => answer.send(await handler(body)));
  return { server, node: server.server as NodeServer };
}

function rest(options: ServerOptions, handler: Handler): Posts {
  const server = new HttpServer(options);
  server.app.post("/", async ({ body }) => handler(body as string));
  return { server, node: server.app.server };
}

/** Both kinds have to do the same. */
export const POST_SERVERS: readonly (readonly [
  name: string,
  make: (options: ServerOptions, handler: Handler) => Posts,
])[] = [
  ["the server of webhooks", webhooks],
  ["the server of REST", rest],
];
