/**
 * An HTTPS server that does to its client what a real API server won't do on demand. The test takes the requests one by
 * one (`next`) and plays each answer by hand: status, events, garbage, a reset in the middle of a line, silence.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Credentials, TlsMaterial } from "../../../src/kube/credentials/credentials.ts";
import { Authority } from "../../cluster/control-plane/authority.ts";

/** A test that waits longer than this for a request has failed. */
const REQUEST_DEADLINE_MS = 5_000;

export class ScriptedServer implements AsyncDisposable {
  readonly url: string;
  readonly ca: string;
  readonly authority: Authority;
  readonly #server: Server;
  readonly #raw: Map<string, Socket>;
  readonly #waiting: Exchange[] = [];
  #wake: (() => void) | undefined;
  /** TCP connections accepted so far. */
  connections = 0;

  /** With port and authority of one that was disposed of it is the same server, back again. */
  static async start(options: { port?: number; authority?: Authority } = {}): Promise<ScriptedServer> {
    const { port = 0, authority = await Authority.create("scripted-ca") } = options;
    const server = createServer(await authority.issue(SERVER_CERTIFICATE));
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    return new ScriptedServer(authority, server);
  }

  private constructor(authority: Authority, server: Server) {
    this.authority = authority;
    this.ca = authority.certificate;
    this.#server = server;
    this.#raw = new Map();
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("connection", (socket: Socket) => {
      this.connections++;
      const id = `${socket.remoteAddress}:${socket.remotePort}`;
      this.#raw.set(id, socket);
      socket.on("close", () => this.#raw.delete(id));
      socket.on("error", () => {});
    });
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const tls = request.socket as TLSSocket;
      const raw = this.#raw.get(`${tls.remoteAddress}:${tls.remotePort}`);
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("error", () => {});
      request.on("end", () => {
        this.#waiting.push(new Exchange(request, response, Buffer.concat(chunks).toString(), raw));
        this.#wake?.();
      });
    });
  }

  /** The next request of the client, in the order they came. Fails if method (`*`: any) or path are others. */
  async next(method: string, path?: string | RegExp): Promise<Exchange> {
    const deadline = Date.now() + REQUEST_DEADLINE_MS;
    while (this.#waiting.length === 0) {
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) {
        throw new Error(`no request within ${REQUEST_DEADLINE_MS} ms; expected ${method} ${path ?? ""}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    const exchange = this.#waiting.shift() as Exchange;
    const fits = typeof path === "string" ? exchange.path.startsWith(path) : (path?.test(exchange.path) ?? true);
    if ((method !== "*" && exchange.method !== method) || !fits) {
      throw new Error(`expected ${method} ${path}, got ${exchange.method} ${exchange.path}`);
    }
    return exchange;
  }

  /** Requests that nobody took yet. */
  get pending(): readonly Exchange[] {
    return this.#waiting;
  }

  /** Takes every request that waits. */
  takeAll(): Exchange[] {
    return this.#waiting.splice(0);
  }

  credentials(headers: () => Record<string, string> = () => ({})): Credentials & { refreshed: number } {
    const tls: TlsMaterial = { ca: this.ca };
    return {
      server: this.url,
      namespace: undefined,
      source: "test",
      refreshed: 0,
      current: async () => ({ tls, headers: headers() }),
      refresh() {
        this.refreshed++;
      },
    };
  }

  /** A certificate of another CA from the next connection on; gives that CA. */
  async changeCertificate(): Promise<string> {
    const authority = await Authority.create("scripted-ca-2");
    this.#server.setSecureContext(await authority.issue(SERVER_CERTIFICATE));
    return authority.certificate;
  }

  /** Resets every connection. */
  resetAll(): void {
    for (const socket of this.#raw.values()) {
      socket.resetAndDestroy();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resetAll();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** A client certificate of the same CA. */
  clientCertificate(): Promise<{ cert: string; key: string }> {
    return this.authority.issue({ commonName: "client", usage: ["client"] });
  }
}

const SERVER_CERTIFICATE = { commonName: "scripted", addresses: ["127.0.0.1"], usage: ["server" as const] };

/** One request and what the test does with it. */
export class Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly #response: ServerResponse;
  readonly #raw: Socket | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, body: string, raw: Socket | undefined) {
    this.method = request.method ?? "";
    this.path = request.url ?? "";
    this.headers = request.headers;
    this.body = body;
    this.#response = response;
    this.#raw = raw;
    response.on("error", () => {});
  }

  get query(): URLSearchParams {
    return new URL(this.path, "http://x").searchParams;
  }

  /** Whether the client has ended the exchange from its side. */
  get closed(): boolean {
    return this.#response.destroyed || this.#response.closed;
  }

  answer(status: number, body: unknown, headers: Record<string, string> = {}): void {
    const text = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
    this.#response.writeHead(status, { "content-type": "application/json", ...headers });
    this.#response.end(text);
  }

  status(code: number, reason: string, message = reason, headers: Record<string, string> = {}): void {
    this.answer(code, statusObject(code, reason, message), headers);
  }

  /** A list of objects, as the API server renders it. */
  list(items: readonly object[], resourceVersion: string, next?: string): void {
    const metadata = { resourceVersion, ...(next ? { continue: next } : {}) };
    this.answer(200, { kind: "ConfigMapList", apiVersion: "v1", metadata, items });
  }

  /** Status and headers of a watch. */
  open(headers: Record<string, string> = {}): this {
    this.#response.writeHead(200, {
      "content-type": "application/json",
      "transfer-encoding": "chunked",
      ...headers,
    });
    this.#response.flushHeaders();
    return this;
  }

  event(type: string, object: object): this {
    return this.write(`${JSON.stringify({ type, object })}\n`);
  }

  bookmark(resourceVersion: string): this {
    return this.event("BOOKMARK", { kind: "ConfigMap", apiVersion: "v1", metadata: { resourceVersion } });
  }

  write(text: string | Uint8Array): this {
    this.#response.write(text);
    return this;
  }

  end(): void {
    this.#response.end();
  }

  /** RST on the wire, after what was written is out. */
  async reset(): Promise<void> {
    await new Promise<void>((resolve) => {
      if (!this.#response.headersSent || this.#response.writableLength === 0) {
        setImmediate(resolve);
      } else {
        this.#response.write("", () => resolve());
      }
    });
    this.#raw?.resetAndDestroy();
  }
}

export function statusObject(code: number, reason: string, message = reason): object {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
}
