/**
 * The HTTP/1.1 server of REST interfaces. fastify routes, parses queries and answers on a guarded server. Errors are answered in
 * plain text unless a product says otherwise. Webhooks, with a few fixed paths, do without fastify: `route-server.ts`.
 */

import type { Server } from "node:http";
import { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { type Log, silentLog } from "../log.ts";
import { GuardedServer, type ServerOptions } from "./guarded-server.ts";
import { HttpError } from "./http-error.ts";

export interface HttpServerOptions extends ServerOptions {
  /** Answers what is refused here in the product's own form; false for what is to be answered in plain text. */
  readonly answerFailure?: (failure: HttpError, request: FastifyRequest, reply: FastifyReply) => boolean;
}

/** Longer than any name of a Kubernetes object. */
const MAX_PARAM_CHARS = 512;

export class HttpServer {
  /** For routes. Bodies arrive as text, whatever their content type. */
  readonly app: FastifyInstance;
  readonly #guarded: GuardedServer;
  readonly #options: HttpServerOptions;
  readonly #log: Log;
  /** The methods of each path. */
  readonly #methods = new Map<string, string[]>();

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    let guarded: GuardedServer | undefined;
    this.app = fastify({
      serverFactory: (listener) => {
        guarded = new GuardedServer(options, listener);
        return guarded.server as Server;
      },
      routerOptions: { maxParamLength: MAX_PARAM_CHARS },
      frameworkErrors: (_error, request, reply) =>
        this.#answer(new HttpError(400, "the path is not valid"), request, reply),
    });
    if (guarded === undefined) throw new Error("fastify made no server");
    this.#guarded = guarded;
    const { bodies } = guarded;
    this.app.removeAllContentTypeParsers();
    this.app.addContentTypeParser(["application/json", "*"], (_request, payload, done) => bodies.read(payload, done));
    this.app.addHook("onRequest", (_request, reply, done) => done(this.#guarded.refusalOf(reply.raw)));
    this.app.setErrorHandler((error: FastifyError, request, reply) => this.#fail(error, request, reply));
    this.app.setNotFoundHandler((request) => {
      throw new HttpError(404, `nothing at ${request.url.split("?", 1)[0]}`);
    });
    this.app.addHook("onRoute", ({ url, method }) => {
      this.#methods.set(url, [...(this.#methods.get(url) ?? []), ...[method].flat()]);
    });
  }

  /** Starts listening; resolves with the port. */
  async listen(): Promise<number> {
    this.#refuseOtherMethods();
    await this.app.ready();
    return this.#guarded.listen();
  }

  get port(): number {
    return this.#guarded.port;
  }

  /** For readiness routes: set it when the process can do its work. `drain` takes it back. */
  get ready(): boolean {
    return this.#guarded.ready;
  }

  set ready(ready: boolean) {
    this.#guarded.ready = ready;
  }

  /** See GuardedServer. */
  async drain(graceMs: number, settleMs = 0): Promise<void> {
    await this.#guarded.drain(graceMs, settleMs);
    await this.app.close();
  }

  /** The answer goes on without an end: it is no request under way, and ends when the server drains. */
  readonly hold = ({ raw }: FastifyReply): void => this.#guarded.hold(raw);

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.app.server.listening) await this.drain(0);
  }

  /** A known path with another method is 405, where fastify says 404. */
  #refuseOtherMethods(): void {
    for (const [url, methods] of [...this.#methods]) {
      const others = this.app.supportedMethods.filter((method) => !methods.includes(method));
      const allow = methods.filter((method) => method !== "HEAD").join(", ");
      this.app.route({
        method: others,
        url,
        handler: ({ method }, reply) => {
          reply.header("allow", allow);
          throw new HttpError(405, `${method} is not possible here`);
        },
      });
    }
  }

  #fail(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
    if (error instanceof HttpError) this.#answer(error, request, reply);
    else if (error.code?.startsWith("FST_ERR_") && error.statusCode !== undefined && error.statusCode < 500) {
      this.#answer(new HttpError(error.statusCode, error.message), request, reply);
    } else {
      if (!reply.raw.destroyed) this.#log.error({ err: error, path: request.url }, "a request failed");
      this.#answer(new HttpError(500, "internal error"), request, reply);
    }
  }

  #answer(failure: HttpError, request: FastifyRequest, reply: FastifyReply): void {
    if (this.#options.answerFailure?.(failure, request, reply) === true) return;
    reply.code(failure.statusCode).type("text/plain; charset=utf-8").send(`${failure.message}\n`);
  }
}
