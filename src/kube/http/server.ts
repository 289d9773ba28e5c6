/**
 * The HTTP/1.1 server of every process: webhooks and pages over TLS, health and metrics in the clear. Certificates are
 * exchanged while connections stay, and stopping loses no request. Uses `node:http` only.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import type { SecureContextOptions, SecureVersion } from "node:tls";
import { type Clock, systemClock } from "../clock.ts";
import { type Log, silentLog } from "../log.ts";
import { Deadlines } from "./deadlines.ts";
import { Exchange, type ExchangeOptions } from "./exchange.ts";
import type { HttpAnswer, HttpHandler } from "./http-handler.ts";
import { Routes } from "./routes.ts";

export interface ServerCertificate {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  readonly notAfterMs?: number;
  /** TLS 1.2 and later with the ciphers of the platform, unless given. */
  readonly limits?: TlsLimits;
}

/** What a client has to be capable of. */
export interface TlsLimits {
  readonly minVersion: SecureVersion;
  /** OpenSSL's names, joined by colons. */
  readonly ciphers: string;
}

/** Where the certificate comes from. `undefined` as long as there is none: handshakes fail until it comes. */
export interface CertificateSource {
  current(): ServerCertificate | undefined;
  /** Calls the listener after each change; the returned function ends that. */
  onChange(listener: () => void): () => void;
}

export interface HttpServerOptions {
  /** 0 for any free port. */
  readonly port: number;
  readonly host?: string;
  /** TLS when given. With the bare function, `reloadCertificate` must be called after a change. */
  readonly tls?: CertificateSource | (() => ServerCertificate | undefined);
  readonly log?: Log;
  readonly clock?: Clock;
  readonly maxBodyBytes?: number;
  /** Time for one request, from its headers to its answer. */
  readonly requestTimeoutMs?: number;
}

/** An AdmissionReview carries an object twice, each up to etcd's 1.5 MB, in JSON. */
export const MAX_BODY_BYTES = 8 * 1024 * 1024;
export const REQUEST_TIMEOUT_MS = 30_000;
/** Above the 90 s of Go clients, so that they, not we, close an idle connection and never write into a closed one. */
const KEEP_ALIVE_MS = 120_000;
const MIN_TLS_VERSION = "TLSv1.2";
const HEADERS_TIMEOUT_MS = 10_000;
/** While draining, how often to look whether the last request is over. */
const DRAIN_POLL_MS = 10;
/** How long a finished answer may take to reach its client when the server stops. */
const LINGER_MS = 2_000;

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #routes = new Routes();
  readonly #exchange: ExchangeOptions;
  readonly #server: Server | TlsServer;
  /** Connections as accepted; under TLS the socket of a connection is another one, once it is established. */
  readonly #handshakes = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  /** Connections with a request whose answer is not out yet. */
  readonly #busy = new Set<Socket>();
  #unsubscribe: (() => void) | undefined;
  #draining = false;
  /** For readiness routes: set it when the process can do its work. `drain` takes it back. */
  ready = false;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#clock = options.clock ?? systemClock;
    this.#exchange = {
      routes: this.#routes,
      deadlines: new Deadlines(this.#clock),
      timeoutMs: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      maxBodyBytes: options.maxBodyBytes ?? MAX_BODY_BYTES,
      onFailure: (error, { url }) => this.#log.error({ err: error, path: url }, "a request failed"),
    };
    const answer = (request: IncomingMessage, response: ServerResponse) => this.#serve(request, response);
    this.#server = options.tls ? createTlsServer(this.#secureContext(), answer) : createServer(answer);
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#server.headersTimeout = HEADERS_TIMEOUT_MS;
    this.#server.requestTimeout = this.#exchange.timeoutMs;
    this.#server.on("connection", (socket: Socket) => remember(this.#handshakes, socket));
    this.#server.on(options.tls ? "secureConnection" : "connection", (socket: Socket) =>
      remember(this.#sockets, socket),
    );
    this.#server.on("tlsClientError", (error) => this.#log.debug({ err: error }, "a TLS handshake failed"));
  }

  /** Path `/x` exactly, `/x/*` and all below; method `*` for any. */
  route(method: string, path: string, handler: HttpHandler): this {
    this.#routes.add(method, path, handler);
    return this;
  }

  /** Starts listening; resolves with the port. */
  async listen(): Promise<number> {
    const { tls, host, port } = this.#options;
    if (tls && typeof tls !== "function") {
      this.#unsubscribe = tls.onChange(() => this.reloadCertificate());
      this.reloadCertificate();
    }
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
        this.#server.off("error", reject);
        this.#server.on("error", (error) => this.#log.error({ err: error }, "the HTTP server has an error"));
        resolve();
      });
    });
    return this.port;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? this.#options.port;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** New connections get the source's present certificate; those that are open stay. A bad one is logged, not used. */
  reloadCertificate(): void {
    const context = this.#secureContext();
    if (context.cert === undefined) {
      return;
    }
    try {
      (this.#server as TlsServer).setSecureContext(context);
    } catch (error) {
      this.#log.error({ err: error }, "the new certificate or its TLS limits cannot be used; the old ones stay");
    }
  }

  /**
   * Stops without losing a request: not ready from now on, goes on serving for `settleMs` (clients and endpoints need to
   * learn of it) but ends each connection with its next answer, then takes no new ones, and closes what is still open
   * when `graceMs` are over.
   */
  async drain(graceMs: number, settleMs = 0): Promise<void> {
    this.ready = false;
    this.#draining = true;
    const endMs = this.#clock.monotonicMs() + graceMs;
    await this.#clock.sleep(Math.min(settleMs, graceMs));
    const closed = new Promise<void>((resolve) => {
      // Not http's own close: it destroys connections whose answer is written but not yet out.
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
    for (const socket of this.#sockets) {
      if (!this.#busy.has(socket)) {
        socket.end();
      }
    }
    await this.#until(() => this.#busy.size === 0, endMs);
    for (const socket of this.#sockets) {
      socket.end();
    }
    await this.#until(() => this.#sockets.size === 0, Math.min(endMs, this.#clock.monotonicMs() + LINGER_MS));
    for (const socket of [...this.#sockets, ...this.#handshakes]) {
      socket.destroy();
    }
    this.#unsubscribe?.();
    this.#exchange.deadlines.stop();
    await closed;
    this.#server.close();
  }

  async #until(condition: () => boolean, endMs: number): Promise<void> {
    while (!condition() && this.#clock.monotonicMs() < endMs) {
      await this.#clock.sleep(DRAIN_POLL_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) {
      await this.drain(0);
    }
  }

  #secureContext(): SecureContextOptions {
    const { tls } = this.#options;
    const certificate = typeof tls === "function" ? tls() : tls?.current();
    if (certificate === undefined) return { minVersion: MIN_TLS_VERSION };
    const { cert, key, limits } = certificate;
    return { cert, key, minVersion: MIN_TLS_VERSION, ...limits };
  }

  #serve(incoming: IncomingMessage, response: ServerResponse): void {
    const { socket } = incoming;
    this.#busy.add(socket);
    const exchange = new Exchange(incoming, this.#exchange, (answer) => this.#write(incoming, response, answer));
    response.on("close", () => {
      this.#busy.delete(socket);
      exchange.close(response.writableFinished);
    });
    void exchange.run();
  }

  #write(incoming: IncomingMessage, response: ServerResponse, answer: HttpAnswer): void {
    const { status, headers, body = "" } = answer;
    // A body that nobody read would be taken for the next request.
    if (this.#draining || !incoming.complete) {
      response.setHeader("connection", "close");
    }
    response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
    response.end(incoming.method === "HEAD" ? undefined : body);
  }
}

function remember(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
}
