import type { IncomingMessage, ServerResponse } from "node:http";
import { type Log, silentLog } from "../log.ts";
import { GuardedServer, type ServerOptions } from "./guarded-server.ts";
import { HttpError } from "./http-error.ts";
import { type TextResponse, writeTextResponse } from "./text-response.ts";

/** The response to a GET or HEAD, by path. May throw, as a PostHandler. */
export type GetHandlers = Readonly<Record<string, (request: IncomingMessage) => TextResponse | Promise<TextResponse>>>;

/** The HTTP/1.1 server of probes and metrics: a few fixed paths, each of which answers a GET. On Node's own, as PostServer. */
export class GetServer extends GuardedServer {
  readonly #handlers: ReadonlyMap<string, GetHandlers[string]>;
  readonly #log: Log;

  constructor(options: ServerOptions, handlers: GetHandlers) {
    super(options, async (request, response) =>
      writeTextResponse(
        response,
        await this.#answer(request, response).catch((error) => this.#failure(error, request)),
      ),
    );
    this.#handlers = new Map(Object.entries(handlers));
    this.#log = options.log ?? silentLog;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<TextResponse> {
    const refusal = this.refusalOf(response);
    if (refusal !== undefined) throw refusal;
    const { method, url = "/" } = request;
    const path = url.split("?", 1)[0] ?? "";
    const found = this.#handlers.get(path);
    if (found === undefined) throw new HttpError(404, `nothing at ${path}`);
    if (method === "GET" || method === "HEAD") return found(request);
    response.setHeader("allow", "GET");
    throw new HttpError(405, `${method} is not possible here`);
  }

  #failure(error: unknown, { url }: IncomingMessage): TextResponse {
    if (error instanceof HttpError) return { status: error.statusCode, body: `${error.message}\n` };
    this.#log.error({ err: error, path: url }, "a request failed");
    return { status: 500, body: "internal error\n" };
  }
}
