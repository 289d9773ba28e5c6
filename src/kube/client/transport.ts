import { type ConnectionOptions, createSecureContext } from "node:tls";
import type { Dispatcher, Pool } from "undici";
import UndiciPool from "undici/lib/dispatcher/pool.js";
import { ConnectionError } from "./api-error.ts";
import type { Credentials, TlsMaterial } from "./credentials.ts";
import { ResponseReader } from "./response-reader.ts";

/** One HTTP exchange. `path` is absolute, query included. */
export interface TransportRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Longest silence before and inside the body; 0 for no limit inside. */
  readonly idleTimeoutMs: number;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** To be read to its end, or left by `break`: both give the connection back or close it. */
  readonly body: AsyncIterable<Buffer>;
}

export const CONNECT_TIMEOUT_MS = 10_000;
/** The API server sends the headers of any answer, a watch's too, within its request timeout. */
export const HEADERS_TIMEOUT_MS = 65_000;
/** Below the 90 s after which Go servers close idle connections, so we never write into a closing one. */
const KEEP_ALIVE_MS = 55_000;
/** libuv then probes each second, ten times: a vanished peer is noticed after 25 s. */
const TCP_KEEP_ALIVE_DELAY_MS = 15_000;

type TlsOptions = Pick<ConnectionOptions, "servername" | "rejectUnauthorized" | "secureContext">;

/**
 * HTTP/1.1 connections to one API server. Adds credentials to requests and opens new connections when the TLS material
 * changes. Its errors tell whether the request was sent.
 */
export class Transport {
  readonly #credentials: Credentials;
  readonly #origin: string;
  readonly #prefix: string;
  #pool: { readonly tls: TlsMaterial; readonly dispatcher: Pool } | undefined;
  #closed = false;

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
    const url = new URL(credentials.server);
    this.#origin = url.origin;
    this.#prefix = url.pathname.replace(/\/+$/, "");
  }

  /** Resolves with the headers. Throws `ConnectionError`, or the signal's reason when it aborts. */
  async send(request: TransportRequest): Promise<TransportResponse> {
    request.signal?.throwIfAborted();
    const { tls, headers, repeated } = await this.#credentials.current();
    request.signal?.throwIfAborted();
    const reader = new ResponseReader(`${request.method} ${this.#origin}${request.path.split("?")[0]}`, request.signal);
    this.#dispatcher(tls).dispatch(
      {
        method: request.method as Dispatcher.HttpMethod,
        path: this.#prefix + request.path,
        headers: { ...request.headers, ...headers, ...repeated },
        body: request.body ?? null,
        bodyTimeout: request.idleTimeoutMs,
        headersTimeout: Math.min(HEADERS_TIMEOUT_MS, request.idleTimeoutMs || HEADERS_TIMEOUT_MS),
      },
      reader,
    );
    return reader.response;
  }

  /** Ends every connection at once; requests under way fail. */
  async close(): Promise<void> {
    this.#closed = true;
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.dispatcher.destroy();
  }

  #dispatcher(tls: TlsMaterial): Pool {
    if (this.#closed) {
      throw new ConnectionError("the client is closed", { written: false });
    }
    if (this.#pool?.tls !== tls) {
      // Requests under way, watches included, end in their own time on the old connections.
      this.#pool?.dispatcher.close().catch(() => {});
      const connect = {
        ...this.#ofTls(tls),
        timeout: CONNECT_TIMEOUT_MS,
        keepAliveInitialDelay: TCP_KEEP_ALIVE_DELAY_MS,
      };
      const dispatcher = new UndiciPool(this.#origin, {
        connections: null,
        pipelining: 1,
        allowH2: false,
        connect,
        keepAliveTimeout: KEEP_ALIVE_MS,
        keepAliveMaxTimeout: KEEP_ALIVE_MS,
      });
      this.#pool = { tls, dispatcher };
    }
    return this.#pool.dispatcher;
  }

  /** With one context for all connections. Node would make one for each of them, with certificates of its own. */
  #ofTls({ servername, rejectUnauthorized, ...material }: TlsMaterial): TlsOptions {
    return {
      ...(servername === undefined ? {} : { servername }),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
      ...(this.#origin.startsWith("https:") && { secureContext: createSecureContext(material) }),
    };
  }
}
