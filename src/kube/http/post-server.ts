/**
 * The HTTP/1.1 server of webhooks: a few fixed paths, each of which answers a POST with JSON. On Node's own server: it needs
 * nothing of fastify, which costs memory and time (docs/decisions/029).
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { type Log, silentLog } from "../log.ts";
import { GuardedServer, type ServerOptions } from "./guarded-server.ts";
import { HttpError } from "./http-error.ts";
import { writeTextResponse } from "./text-response.ts";

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

/** What takes handlers: a PostServer. */
export interface PostRoutes {
  post(path: string, handler: PostHandler): void;
}

const JSON_TYPE = "application/json; charset=utf-8";

class TextReply implements PostReply {
  readonly raw: ServerResponse;
  readonly #log: Log;

  constructor(raw: ServerResponse, log: Log) {
    this.raw = raw;
    this.#log = log;
  }

  send(content: string | Error): void {
    if (this.raw.headersSent || this.raw.destroyed) return;
    if (typeof content === "string") writeTextResponse(this.raw, { status: 200, type: JSON_TYPE, body: content });
    else if (content instanceof HttpError) {
      writeTextResponse(this.raw, { status: content.statusCode, body: `${content.message}\n` });
    } else {
      this.#log.error({ err: content, path: this.raw.req.url }, "a request failed");
      writeTextResponse(this.raw, { status: 500, body: "internal error\n" });
    }
  }
}

export class PostServer extends GuardedServer implements PostRoutes {
  readonly #handlers = new Map<string, PostHandler>();
  readonly #log: Log;

  constructor(options: ServerOptions) {
    super(options, (request, response) => this.#route(request, response));
    this.#log = options.log ?? silentLog;
  }

  post(path: string, handler: PostHandler): void {
    this.#handlers.set(path, handler);
  }

  #route(request: IncomingMessage, response: ServerResponse): void {
    const reply = new TextReply(response, this.#log);
    attempt(reply, () => {
      const refusal = this.refusalOf(response);
      if (refusal !== undefined) throw refusal;
      const { method, url = "" } = request;
      const queryAt = url.indexOf("?");
      const path = queryAt < 0 ? url : url.slice(0, queryAt);
      const search = queryAt < 0 ? "" : url.slice(queryAt);
      const handler = this.#handlers.get(path);
      if (handler === undefined) throw new HttpError(404, `nothing at ${path}`);
      if (method !== "POST") {
        response.setHeader("allow", "POST");
        throw new HttpError(405, `${method} is not possible here`);
      }
      this.bodies.read(request, (error, body = "") => {
        if (error === null) attempt(reply, () => handler({ body, search }, reply));
        else reply.send(error);
      });
    });
  }
}

function attempt(reply: PostReply, action: () => void): void {
  try {
    action();
  } catch (error) {
    reply.send(error instanceof Error ? error : new Error(String(error)));
  }
}
