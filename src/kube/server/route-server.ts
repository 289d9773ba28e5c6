/**
 * The HTTP/1.1 server of a few fixed paths: webhooks, probes, metrics. On Node's own server: it needs nothing of fastify, which
 * costs memory and time (docs/decisions/029).
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { type Log, silentLog } from "../log.ts";
import { GuardedServer, type ServerOptions } from "./guarded-server.ts";
import { HttpError } from "./http-error.ts";

export interface TextResponse {
  readonly status: number;
  /** Plain text unless given. */
  readonly type?: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Gives the response to a GET or HEAD. Like a PostHandler, it may throw. */
export type GetHandler = (request: IncomingMessage) => TextResponse | Promise<TextResponse>;

export interface PostRequest {
  readonly body: string;
  /** With its question mark; empty where there is none. */
  readonly search: string;
}

interface PostReply {
  readonly raw: ServerResponse;
  /** JSON, or why there is none. Only the first answer counts, and none once the client is gone. */
  send(content: string | Error): void;
}

/** May throw, or send an error: an HttpError is answered as it says, any other one 500 without its details. */
export type PostHandler = (request: PostRequest, reply: PostReply) => void;

/** What takes handlers of webhooks: a RouteServer. */
export interface PostRoutes {
  post(path: string, handler: PostHandler): void;
}

interface Route {
  readonly method: "GET" | "POST";
  readonly handle: (request: IncomingMessage, reply: TextReply, search: string) => void | Promise<void>;
}

const JSON_TYPE = "application/json; charset=utf-8";

export class RouteServer extends GuardedServer implements PostRoutes {
  readonly #routes = new Map<string, Route>();

  constructor(options: ServerOptions) {
    const log = options.log ?? silentLog;
    super(options, (request, response) => {
      const reply = new TextReply(response, log);
      attempt(reply, () => this.#route(request, reply));
    });
  }

  get(path: string, handler: GetHandler): this {
    this.#routes.set(path, {
      method: "GET",
      handle: async (request, reply) => reply.write(await handler(request)),
    });
    return this;
  }

  post(path: string, handler: PostHandler): void {
    this.#routes.set(path, {
      method: "POST",
      handle: (request, reply, search) =>
        this.bodies.read(request, (error, body = "") => {
          if (error === null) attempt(reply, () => handler({ body, search }, reply));
          else reply.send(error);
        }),
    });
  }

  #route(request: IncomingMessage, reply: TextReply): void | Promise<void> {
    const refusal = this.refusalOf(reply.raw);
    if (refusal !== undefined) throw refusal;
    const { method = "", url = "" } = request;
    const queryAt = url.indexOf("?");
    const path = queryAt < 0 ? url : url.slice(0, queryAt);
    const route = this.#routes.get(path);
    if (route === undefined) throw new HttpError(404, `nothing at ${path}`);
    if (method !== route.method && !(method === "HEAD" && route.method === "GET")) {
      reply.raw.setHeader("allow", route.method);
      throw new HttpError(405, `${method} is not possible here`);
    }
    return route.handle(request, reply, queryAt < 0 ? "" : url.slice(queryAt));
  }
}

class TextReply implements PostReply {
  readonly raw: ServerResponse;
  readonly #log: Log;

  constructor(raw: ServerResponse, log: Log) {
    this.raw = raw;
    this.#log = log;
  }

  send(content: string | Error): void {
    if (typeof content === "string") this.write({ status: 200, type: JSON_TYPE, body: content });
    else if (content instanceof HttpError) this.write({ status: content.statusCode, body: `${content.message}\n` });
    else {
      if (!this.#isOver) this.#log.error({ err: content, path: this.raw.req.url }, "a request failed");
      this.write({ status: 500, body: "internal error\n" });
    }
  }

  /** As one text: Node sends it and its headers in one write. The connection ends where the request has more to come. */
  write({ status, type, body, headers }: TextResponse): void {
    const { raw } = this;
    if (this.#isOver) return;
    if (isUnread(raw.req)) raw.setHeader("connection", "close");
    const length = { "content-length": Buffer.byteLength(body) };
    raw.writeHead(status, { ...headers, "content-type": type ?? "text/plain; charset=utf-8", ...length }).end(body);
  }

  get #isOver(): boolean {
    return this.raw.headersSent || this.raw.destroyed;
  }
}

async function attempt(reply: TextReply, action: () => void | Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    reply.send(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Whether there is more of its body to come, which nobody wants. */
function isUnread({ complete, headers }: IncomingMessage): boolean {
  return !complete && (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0);
}
