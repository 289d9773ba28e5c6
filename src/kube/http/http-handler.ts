import type { IncomingHttpHeaders } from "node:http";

export interface HttpRequest {
  readonly method: string;
  /** Decoded path without the query. */
  readonly path: string;
  /** The query with its question mark, still encoded. */
  readonly search: string;
  /** The same, decoded. */
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The whole body. Throws `HttpError` 413 above the server's limit. */
  body(): Promise<Buffer>;
  /** Leaves less time than the server's: after `limitMs` from now the signal aborts with `late()`, which is the answer. */
  answerWithin(limitMs: number, late: () => HttpError): void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/**
 * The signal aborts when the client went away or the server's time for the request is over. A thrown `HttpError` becomes
 * that answer; anything else becomes a 500 without its details, which go to the log.
 */
export type HttpHandler = (request: HttpRequest, signal: AbortSignal) => Promise<HttpAnswer> | HttpAnswer;

/** An answer other than success, from anywhere below a handler. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function jsonAnswer(status: number, value: unknown): HttpAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(value) };
}

export function textAnswer(status: number, text: string): HttpAnswer {
  return { status, headers: { "content-type": "text/plain; charset=utf-8" }, body: `${text}\n` };
}
