/**
 * An HTTPS server in front of a backend that hands requests on, and does to chosen ones what servers, proxies and networks
 * do now and then. So every fault can be had with a real API server behind it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Credentials, TlsMaterial } from "../../../src/kube/credentials/credentials.ts";
import { Authority } from "../../cluster/control-plane/authority.ts";
import type { Backend, BackendAnswer } from "./backend.ts";

/** What a request asks for. `more`: a list's second page and later. */
export type Kind = "list" | "more" | "watch" | "read" | "write";

export interface Passage {
  readonly kind: Kind;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The answer of the backend, not sent yet, to the request or to one with another path. */
  forward(path?: string): Promise<BackendAnswer>;
  /** RST on the wire, after what was written is out. */
  reset(): Promise<void>;
}

export type Fault = (passage: Passage) => Promise<void>;

const CERTIFICATE = { commonName: "front", addresses: ["127.0.0.1"], usage: ["server" as const] };

export class Front implements AsyncDisposable {
  readonly credentials: Credentials;
  readonly #backend: Backend;
  readonly #server: Server;
  readonly #sockets = new Map<string, Socket>();
  readonly #faults: { readonly kinds: readonly Kind[]; readonly fault: Fault }[] = [];
  readonly #tls: { current: TlsMaterial };
  /** Kind and path of each request so far. */
  readonly requests: { readonly kind: Kind; readonly path: string; readonly authorization: string | undefined }[] = [];
  /** How often the client asked for fresh credentials. */
  refreshed = 0;

  static async start(backend: Backend): Promise<Front> {
    const authority = await Authority.create("front-ca");
    const server = createServer(await authority.issue(CERTIFICATE));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Front(backend, server, authority.certificate);
  }

  private constructor(backend: Backend, server: Server, ca: string) {
    this.#backend = backend;
    this.#server = server;
    this.#tls = { current: { ca } };
    this.credentials = {
      server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
      namespace: undefined,
      source: "test",
      current: async () => ({
        tls: this.#tls.current,
        headers: { authorization: `Bearer token-${this.refreshed}` },
      }),
      refresh: () => {
        this.refreshed++;
      },
    };
    server.on("connection", (socket: Socket) => {
      const id = `${socket.remoteAddress}:${socket.remotePort}`;
      this.#sockets.set(id, socket);
      socket.on("close", () => this.#sockets.delete(id));
      socket.on("error", () => {});
    });
    server.on("request", (request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  /** The next request of one of these kinds meets the fault instead of the backend. Several wait in order. */
  once(kinds: readonly Kind[], fault: Fault): void {
    this.#faults.push({ kinds, fault });
  }

  /** Faults that no request has met yet. */
  get pending(): number {
    return this.#faults.length;
  }

  count(kind: Kind): number {
    return this.requests.filter((request) => request.kind === kind).length;
  }

  resetAll(): void {
    for (const socket of this.#sockets.values()) socket.resetAndDestroy();
  }

  /** A certificate of another CA, and that CA in the credentials, from the next connection on. */
  async changeCertificate(): Promise<void> {
    const authority = await Authority.create("front-ca-2");
    this.#server.setSecureContext(await authority.issue(CERTIFICATE));
    this.#tls.current = { ca: authority.certificate };
    this.resetAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resetAll();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    response.on("error", () => {});
    const kind = kindOf(request);
    const path = request.url ?? "";
    this.requests.push({ kind, path, authorization: request.headers.authorization });
    const passage: Passage = {
      kind,
      request,
      response,
      forward: (other = path) =>
        this.#backend.handle({
          method: request.method ?? "GET",
          path: other,
          headers: request.headers as Record<string, string>,
          body: Buffer.concat(chunks).toString(),
          signal: gone.signal,
        }),
      reset: () => this.#reset(request, response),
    };
    const index = this.#faults.findIndex(({ kinds }) => kinds.includes(kind));
    const [met] = index < 0 ? [] : this.#faults.splice(index, 1);
    await (met?.fault ?? passOn)(passage);
  }

  async #reset(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (response.headersSent) await new Promise<void>((resolve) => response.write("", () => resolve()));
    const { remoteAddress, remotePort } = request.socket;
    this.#sockets.get(`${remoteAddress}:${remotePort}`)?.resetAndDestroy();
  }
}

/** No fault at all. */
export const passOn: Fault = async ({ response, forward }) => {
  const { status, headers, body } = await forward();
  response.writeHead(status, headers);
  response.flushHeaders();
  for await (const chunk of body) response.write(chunk);
  response.end();
};

function kindOf(request: IncomingMessage): Kind {
  const url = new URL(request.url ?? "", "http://x");
  if (request.method !== "GET") return "write";
  if (url.searchParams.has("watch")) return "watch";
  if (url.searchParams.has("continue")) return "more";
  return url.pathname.endsWith("/widgets") ? "list" : "read";
}
