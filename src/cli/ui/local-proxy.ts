import { timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";
import { NAMESPACE_HEADER, WAYS_HEADER } from "../../api/way.ts";

/**
 * Serves the pool's page on 127.0.0.1 with the user's credentials. Other users of the machine and other pages in the browser
 * can reach the port too, so that a request counts only with the secret of this run as the first segment of its path, and with
 * a Host that names this port (DNS rebinding). It reads, and only below the proxy of the pool's Service.
 */

const LOOPBACK = "127.0.0.1";
/** A page, its event streams and some downloads. */
const MAX_CONNECTIONS = 64;
const HEADERS_TIMEOUT_MS = 10_000;

export interface Upstream {
  /** `path` is below the Service's proxy, with its query. */
  send(
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{
    readonly status: number;
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
    readonly body: AsyncIterable<Uint8Array>;
  }>;
}

/** What of a request the pool has to know. */
const REQUEST_HEADERS = ["accept", "accept-language", "if-none-match", "last-event-id"];
/** What of an answer the browser or the page has to know; the API server adds others about itself. */
const RESPONSE_HEADERS = [
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-security-policy",
  "content-type",
  "etag",
  "retry-after",
  "vary",
  WAYS_HEADER,
  NAMESPACE_HEADER,
];
const OWN_HEADERS = {
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-resource-policy": "same-origin",
};

export class LocalProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #upstream: Upstream;
  readonly #secret: string;

  private constructor(upstream: Upstream, secret: string) {
    this.#upstream = upstream;
    this.#secret = secret;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.headersTimeout = HEADERS_TIMEOUT_MS;
  }

  /** `port` 0 takes any free one. Rejects when the port is taken. */
  static async listen(upstream: Upstream, { secret, port }: { readonly secret: string; readonly port: number }) {
    const proxy = new LocalProxy(upstream, secret);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once("error", reject);
      proxy.#server.listen(port, LOOPBACK, resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** With the secret: who has it reads what the user may read. */
  get url(): string {
    return `http://${LOOPBACK}:${this.port}/${this.#secret}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const refusal = this.#refusalOf(request);
    if (refusal !== undefined) {
      refuse(response, refusal);
      return;
    }
    const path = upstreamPath(request.url ?? "", this.#secret);
    if (path === undefined) {
      refuse(response, [404, "Not found: open the address that kubectl macpool ui printed."]);
      return;
    }
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    try {
      const answer = await this.#upstream.send(path, chosen(request.headers, REQUEST_HEADERS), gone.signal);
      response.writeHead(answer.status, { ...chosen(answer.headers, RESPONSE_HEADERS), ...OWN_HEADERS });
      response.flushHeaders();
      await pipeline(answer.body, response);
    } catch (error) {
      if (response.headersSent) response.destroy();
      else refuse(response, [502, `The API server can't be asked: ${(error as Error).message}`]);
    }
  }

  #refusalOf({ method, url = "", headers }: IncomingMessage): Refusal | undefined {
    const hosts = [LOOPBACK, "localhost"].map((host) => `${host}:${this.port}`);
    if (!hosts.includes(headers.host ?? "")) return [421, "This server answers to its own address only."];
    if (!this.#isKnown(url.split("/", 2)[1] ?? "")) {
      return [403, "Open the address that kubectl macpool ui printed: it has the secret of this run."];
    }
    const { origin } = headers;
    if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`)) {
      return [403, "Requests of other pages are refused."];
    }
    return method === "GET" || method === "HEAD" ? undefined : [405, "This server only reads."];
  }

  #isKnown(secret: string): boolean {
    const [given, own] = [Buffer.from(secret), Buffer.from(this.#secret)];
    return given.length === own.length && timingSafeEqual(given, own);
  }
}

type Refusal = readonly [status: number, text: string];

function refuse(response: ServerResponse, [status, text]: Refusal): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...OWN_HEADERS });
  response.end(`${text}\n`);
}

function chosen(headers: Readonly<Record<string, string | string[] | undefined>>, names: readonly string[]) {
  const pairs = names.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, String(value)]];
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}

/**
 * The path below the Service's proxy that a request of the browser stands for, or undefined. Whatever leads out of the
 * proxy would be a request to the API server with the user's credentials.
 */
export function upstreamPath(url: string, secret: string): string | undefined {
  const [path = "", query] = url.split(/\?(.*)/s, 2);
  const prefix = `/${secret}/`;
  if (!path.startsWith(prefix)) return undefined;
  const segments = path.slice(prefix.length).split("/").map(decoded);
  if (segments.some((segment, index) => !isPlain(segment, index === segments.length - 1))) return undefined;
  const safe = segments.map((segment) => encodeURIComponent(segment ?? "")).join("/");
  return `/${safe}${query === undefined || query === "" ? "" : `?${query}`}`;
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** An empty segment is allowed at the end only, for a folder. */
function isPlain(segment: string | undefined, isLast: boolean): segment is string {
  if (segment === undefined || segment === "." || segment === "..") return false;
  return segment === "" ? isLast : /^[^/\\%?#\p{Cc}]+$/u.test(segment);
}
