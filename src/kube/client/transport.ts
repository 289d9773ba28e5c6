import type { Agent, AgentOptions, ClientRequest, RequestOptions } from "node:http";
import { type ConnectionOptions, createSecureContext } from "node:tls";
import type { Credentials, TlsMaterial } from "../credentials/credentials.ts";
import { ConnectionError } from "./api-error.ts";
import { ResponseReader } from "./response-reader.ts";

/** Not by `import`, for the reason in `../server/guarded-server.ts`. */
const http = process.getBuiltinModule("node:http");
const https = process.getBuiltinModule("node:https");

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
  /** What was sent, to name it to `Credentials.refresh` where it was refused. */
  readonly authorization?: string | undefined;
  /** To be read to its end, or left by `break`: both give the connection back or close it. */
  readonly body: AsyncIterable<Buffer>;
}

export const CONNECT_TIMEOUT_MS = 10_000;
/** The API server sends the headers of any answer, a watch's too, within its request timeout. */
const HEADERS_TIMEOUT_MS = 65_000;
/** Below the 90 s after which Go servers close idle connections, so we never write into a closing one. */
const KEEP_ALIVE_MS = 55_000;
/** libuv then probes each second, ten times: a vanished peer is noticed after 25 s. */
export const TCP_KEEP_ALIVE_DELAY_MS = 15_000;

type SecureOptions = Pick<ConnectionOptions, "servername" | "rejectUnauthorized" | "secureContext">;

/**
 * HTTP/1.1 connections to one API server. Adds credentials to requests and opens new connections when the TLS material
 * changes. Its errors say whether the request was sent.
 */
export class Transport {
  readonly #credentials: Credentials;
  readonly #server: URL;
  readonly #prefix: string;
  #connections: { readonly tls: TlsMaterial; readonly agent: Agent } | undefined;
  #closed = false;

  constructor(credentials: Credentials) {
    this.#credentials = credentials;
    this.#server = new URL(credentials.server);
    this.#prefix = this.#server.pathname.replace(/\/+$/, "");
  }

  /** Resolves with the headers. Throws `ConnectionError`, or the signal's reason when it aborts. */
  async send(request: TransportRequest): Promise<TransportResponse> {
    request.signal?.throwIfAborted();
    const { tls, headers, repeated } = await this.#credentials.current();
    request.signal?.throwIfAborted();
    const name = `${request.method} ${this.#server.origin}${request.path.split("?")[0]}`;
    // Node does not send the length of a DELETE's body by itself.
    const length = request.body === undefined ? {} : { "content-length": String(Buffer.byteLength(request.body)) };
    const asked = this.#request(name, {
      agent: this.#agent(tls),
      method: request.method,
      path: this.#prefix + request.path,
      headers: { ...request.headers, ...headers, ...repeated, ...length },
    });
    const timeouts = {
      connectMs: CONNECT_TIMEOUT_MS,
      headersMs: Math.min(HEADERS_TIMEOUT_MS, request.idleTimeoutMs || HEADERS_TIMEOUT_MS),
      idleMs: request.idleTimeoutMs,
    };
    const reader = new ResponseReader(name, asked, timeouts, request.signal);
    asked.end(request.body);
    return { ...(await reader.response), authorization: headers.authorization };
  }

  /** Ends every connection at once; requests under way fail. */
  close(): void {
    this.#closed = true;
    this.#connections?.agent.destroy();
    this.#connections = undefined;
  }

  #request(name: string, options: RequestOptions): ClientRequest {
    try {
      return this.#isTls ? https.request(this.#server, options) : http.request(this.#server, options);
    } catch (cause) {
      throw new ConnectionError(`${name}: ${(cause as Error).message}`, { written: false, cause });
    }
  }

  #agent(tls: TlsMaterial): Agent {
    if (this.#closed) {
      throw new ConnectionError("the client is closed", { written: false });
    }
    if (this.#connections?.tls !== tls) {
      if (this.#connections) retire(this.#connections.agent);
      const options = {
        keepAlive: true,
        keepAliveMsecs: TCP_KEEP_ALIVE_DELAY_MS,
        timeout: KEEP_ALIVE_MS,
      };
      this.#connections = { tls, agent: agentFor(this.#credentials, tls, options) };
    }
    return this.#connections.agent;
  }

  get #isTls(): boolean {
    return this.#server.protocol === "https:";
  }
}

/** Of connections to the server of the credentials, through their proxy if they have one. */
export function agentFor(credentials: Credentials, tls: TlsMaterial, options: AgentOptions = {}): Agent {
  const isTls = new URL(credentials.server).protocol === "https:";
  const direct = isTls ? new https.Agent({ ...options, ...ofTls(tls) }) : new http.Agent(options);
  return credentials.proxied?.(direct, tls) ?? direct;
}

/** Requests under way, watches included, end in their own time on the old connections. */
function retire(agent: Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

/** With one context for all connections. Node would make one for each of them, with certificates of its own. */
function ofTls({ servername, rejectUnauthorized, ...material }: TlsMaterial): SecureOptions {
  return {
    ...(servername === undefined ? {} : { servername }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    secureContext: createSecureContext(material),
  };
}
