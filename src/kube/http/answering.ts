import type { IncomingMessage, RequestListener } from "node:http";
import type { Log } from "../log.ts";

export interface Answer {
  readonly status: number;
  /** Plain text unless given. */
  readonly type?: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The answer to a GET or HEAD, by path. */
export type Answers = Readonly<Record<string, (request: IncomingMessage) => Answer | Promise<Answer>>>;

/** Requests to a server of Node's own with a few fixed paths. */
export function answering(answers: Answers, log: Log): RequestListener {
  const find = async (request: IncomingMessage): Promise<Answer> => {
    const { method, url = "/" } = request;
    const path = url.split("?", 1)[0] ?? "";
    const found = answers[path];
    if (found === undefined) return { status: 404, body: `nothing at ${path}\n` };
    if (method === "GET" || method === "HEAD") return found(request);
    return { status: 405, body: `${method} is not possible here\n`, headers: { allow: "GET" } };
  };
  return async (request, response) => {
    const { status, type, body, headers } = await find(request).catch((error): Answer => {
      log.error({ err: error, path: request.url }, "a request failed");
      return { status: 500, body: "internal error\n" };
    });
    const length = { "content-length": Buffer.byteLength(body) };
    response
      .writeHead(status, { ...headers, "content-type": type ?? "text/plain; charset=utf-8", ...length })
      .end(body);
  };
}
