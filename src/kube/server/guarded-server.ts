/**
 * What each port of ours has, whoever routes its requests: the certificate and its TLS limits change while the server runs,
 * connections, requests and bodies are bounded, clients are judged by their certificates, and `drain` loses no request.
 */

import { once } from "node:events";
import type { Server as HttpServer, IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer as createTlsServer, type Server as HttpsServer } from "node:https";
import type { Server } from "node:net";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { systemClock } from "../clock.ts";
import { type Log, silentLog } from "../log.ts";
import { Bodies } from "./bodies.ts";
import type { CertificateSource } from "./certificate-source.ts";
import { type ClientAuthority, refusalOfClient } from "./certificate-source.ts";
import { ConnectionPace } from "./connection-pace.ts";
import { ConnectionTable, connectionKey } from "./connection-table.ts";
import { HttpError } from "./http-error.ts";

/** `import` reads every export of a module, and node:http's WebSocket loads Node's own undici: 3 MB in every process. */
const { createServer } = process.getBuiltinModule("node:http");

export interface ServerOptions {
  /** 0 for any free port. */
  readonly port: number;
  readonly host?: string;
  /** TLS when given, plain HTTP otherwise. */
  readonly tls?: CertificateSource;
  readonly log?: Log;
  readonly maxBodyBytes?: number;
  /** Of the bodies of all requests under way. */
  readonly maxBytes?: number;
  /** One more takes the place of one without a request. */
  readonly maxConnections?: number;
  /** An answer ends a connection that is older than once to twice this age. */
  readonly maxConnectionAgeMs?: number;
  /** One more is answered 503. Those that are still arriving do not count: they can be half-sent, and bounded as connections. */
  readonly maxRequests?: number;
  /** For a request to arrive with its body; a handler bounds its own time by `setHandlerDeadline`. */
  readonly requestTimeoutMs?: number;
}

/** An AdmissionReview carries an object twice, each up to etcd's 1.5 MB, in JSON. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Eight of the longest, or a thousand reviews of a size that occurs. Parsed, they take about four times as much. */
const MAX_BYTES = 64 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 30_000;
/** An API server on the other side of the world needs one. */
const HANDSHAKE_TIMEOUT_MS = 10_000;
/** Above the 90 s of Go clients, so that they close an idle connection and never write into one that we closed. */
const KEEP_ALIVE_MS = 120_000;
const HEADERS_TIMEOUT_MS = 10_000;
/**
 * Then an answer ends the connection. An API server keeps its connections: after replicas were replaced, all of them lead to the
 * one that was there first. Up to twice the age, by lot, so that those that were opened together do not end together.
 */
const MAX_CONNECTION_AGE_MS = 60_000;
/** A connection with a request on which no byte moves: the client does not read its answer. */
const SILENCE_MS = 60_000;
/** How often Node looks for requests that arrive too slowly. */
const CHECK_MS = 5_000;
/** Three API servers with 1,000 writes under way each, and room for others. */
const MAX_CONNECTIONS = 4_000;
const MAX_REQUESTS = 2_000;
/** Of handshakes, from one address. An API server keeps 25, and opens another where more calls are under way. */
const PACE = { burst: 8, perSecond: 50 };
const MIN_TLS_VERSION = "TLSv1.2";
/** Whether a client's certificate is good enough is decided by request, with a text that says why it is not. */
const CLIENTS = { requestCert: true, rejectUnauthorized: false };
/** While draining, how often to check whether the last request is over. */
const DRAIN_POLL_MS = 10;
/** How long a finished answer may take to reach its client when the server stops. */
const LINGER_MS = 2_000;

export class GuardedServer {
  /** It has the routes of `listener`, and listens when it is told to. */
  readonly server: HttpServer | HttpsServer;
  readonly bodies: Bodies;
  readonly #options: ServerOptions;
  readonly #log: Log;
  /** Connections as accepted; under TLS the socket of a connection is another one, once it is established. */
  readonly #handshakes = new Set<Socket>();
  readonly #sockets = new Set<Socket>();
  readonly #connections: ConnectionTable;
  /** Answers that are not out yet. */
  readonly #answers = new Set<ServerResponse>();
  /** Answers that go on without an end. */
  readonly #streams = new Set<ServerResponse>();
  #unsubscribe: (() => void) | undefined;
  #draining = false;
  #clients: ClientAuthority | undefined;
  readonly #agedAtMs = new WeakMap<Socket, number>();
  /** Whose certificates counted when a connection was made: it is judged by that, and ends when something else counts. */
  readonly #clientsOf = new WeakMap<Socket, ClientAuthority>();
  /** For readiness routes: set it when the process can do its work. `drain` takes it back. */
  ready = false;

  constructor(options: ServerOptions, listener: RequestListener) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    const { tls, requestTimeoutMs = REQUEST_TIMEOUT_MS, maxConnectionAgeMs = MAX_CONNECTION_AGE_MS } = options;
    const { maxBodyBytes = MAX_BODY_BYTES, maxBytes = MAX_BYTES, maxConnections = MAX_CONNECTIONS } = options;
    const busy = (): Set<string> =>
      new Set([...arrived(this.#answers), ...this.#streams].map(({ socket }) => (socket ? connectionKey(socket) : "")));
    this.#connections = new ConnectionTable(maxConnections, busy);
    this.bodies = new Bodies({ maxBodyBytes, maxBytes, clock: systemClock });
    const handshakeTimeout = Math.min(HANDSHAKE_TIMEOUT_MS, requestTimeoutMs);
    const pace = new ConnectionPace({ ...PACE, patienceMs: handshakeTimeout, clock: systemClock });
    const limits = {
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: Math.min(CHECK_MS, requestTimeoutMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
    };
    const server = tls
      ? createTlsServer({ ...limits, ...CLIENTS, handshakeTimeout, minVersion: MIN_TLS_VERSION }, listener)
      : createServer(limits, listener);
    this.server = server;
    server.setTimeout(SILENCE_MS);
    const accept = server.listeners("connection") as ((socket: Socket) => void)[];
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      this.#connections.add(socket);
      remember(this.#handshakes, socket);
      const take = (): void => {
        for (const listener of accept) listener.call(server, socket);
      };
      if (tls) pace.take(socket, take);
      else take();
    });
    server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
      remember(this.#sockets, socket);
      this.#agedAtMs.set(socket, performance.now() + maxConnectionAgeMs * (1 + Math.random()));
      if (this.#clients !== undefined) this.#clientsOf.set(socket, this.#clients);
    });
    server.on("tlsClientError", (error) => this.#log.debug({ err: error }, "a TLS handshake failed"));
    // Before the listener, which asks what is under way.
    server.prependListener("request", (_request: IncomingMessage, answer: ServerResponse) => this.#follow(answer));
  }

  /** Starts listening; resolves with the port. */
  async listen(): Promise<number> {
    const { tls, host, port } = this.#options;
    this.#unsubscribe = tls?.onChange(() => this.#loadCertificate(tls));
    if (tls) this.#loadCertificate(tls);
    await listenOn(this.server, { port, host });
    this.server.on("error", (error) => this.#log.error({ err: error }, "the HTTP server has an error"));
    return this.port;
  }

  get port(): number {
    return (this.server.address() as AddressInfo | null)?.port ?? this.#options.port;
  }

  /**
   * Stops without losing a request: it is not ready from now on. It goes on serving for `settleMs`, until clients and
   * endpoints know, but ends each connection with its next answer. Then it accepts no connections, and closes what is
   * still open when `graceMs` are over.
   */
  async drain(graceMs: number, settleMs = 0): Promise<void> {
    this.ready = false;
    this.#draining = true;
    const endMs = performance.now() + graceMs;
    for (const answer of this.#answers) endConnectionAfter(answer);
    for (const stream of this.#streams) stream.end();
    await sleep(Math.min(settleMs, graceMs));
    const closed = new Promise<void>((resolve) => {
      // Not http's own close: it destroys connections whose answer is written but not yet out.
      NetServer.prototype.close.call(this.server, () => resolve());
    });
    const busy = new Set([...this.#answers].map((answer) => answer.socket));
    for (const socket of this.#sockets) {
      if (!busy.has(socket)) socket.end();
    }
    await until(() => this.#answers.size === 0, endMs);
    for (const socket of this.#sockets) socket.end();
    await until(() => this.#sockets.size === 0, Math.min(endMs, performance.now() + LINGER_MS));
    for (const socket of [...this.#sockets, ...this.#handshakes]) socket.destroy();
    this.#unsubscribe?.();
    await closed;
  }

  /** The answer goes on without an end: it is no request under way, and ends when the server drains. */
  hold(answer: ServerResponse): void {
    this.#answers.delete(answer);
    this.#streams.add(answer);
    answer.once("close", () => this.#streams.delete(answer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.server.listening) await this.drain(0);
  }

  /** New connections get the source's present certificate; those that are open stay. A bad one is logged, not used. */
  #loadCertificate(tls: CertificateSource): void {
    const certificate = tls.current();
    if (certificate === undefined) return;
    const { cert, key, limits, clients } = certificate;
    const context: SecureContextOptions = { cert, key, minVersion: MIN_TLS_VERSION, ...limits, ca: clients?.ca };
    try {
      (this.server as HttpsServer).setSecureContext(context);
      this.#clients = clients;
    } catch (error) {
      this.#log.error({ err: error }, "the new certificate or its TLS limits cannot be used; the old ones stay");
    }
  }

  /** Why a request is not answered, whatever it asks. To be called before its body is read. */
  refusalOf(answer: ServerResponse): HttpError | undefined {
    const { maxRequests = MAX_REQUESTS } = this.#options;
    const { socket } = answer.req;
    const clients = this.#clientsOf.get(socket);
    const refusal =
      this.#answers.size > maxRequests && arrived(this.#answers).length >= maxRequests
        ? new HttpError(503, "too many requests are under way: try again")
        : clients && refusalOfClient(socket as TLSSocket, clients);
    if (refusal !== undefined || clients !== this.#clients) answer.setHeader("connection", "close");
    return refusal;
  }

  #follow(answer: ServerResponse): void {
    this.#answers.add(answer);
    answer.on("close", () => {
      this.#answers.delete(answer);
      this.bodies.release(answer.req);
    });
    const isAged = performance.now() > (this.#agedAtMs.get(answer.req.socket) ?? Number.POSITIVE_INFINITY);
    if (isAged || this.#draining) endConnectionAfter(answer);
  }
}

/** Those whose requests have arrived as a whole. */
function arrived(answers: ReadonlySet<ServerResponse>): ServerResponse[] {
  return [...answers].filter(({ req }) => req.complete);
}

function endConnectionAfter(answer: ServerResponse): void {
  if (!answer.headersSent) answer.setHeader("connection", "close");
}

function remember(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.once("close", () => sockets.delete(socket));
}

async function until(condition: () => boolean, endMs: number): Promise<void> {
  while (!condition() && performance.now() < endMs) await sleep(DRAIN_POLL_MS);
}

interface ListenAddress {
  /** 0 for any free port. */
  readonly port: number;
  readonly host?: string | undefined;
}

/** Resolves when the server listens. Rejects with one sentence about a port that can't be had; `cause` is Node's error. */
async function listenOn(server: Server, { port, host }: ListenAddress): Promise<void> {
  server.listen({ port, ...(host === undefined ? {} : { host }) });
  try {
    await once(server, "listening");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      const message = `Port ${port} is in use (EADDRINUSE): end what listens on it, or give this process another port`;
      throw new Error(message, { cause });
    }
    if (code === "EACCES") {
      throw new Error(`Port ${port} needs root (EACCES): give this process a port above 1023`, { cause });
    }
    if (code === "EADDRNOTAVAIL") {
      const message = `${host} is no address of this machine (EADDRNOTAVAIL): bind port ${port} to another address`;
      throw new Error(message, { cause });
    }
    throw cause;
  }
}
