import type { IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { WebSocket } from "ws";
import type { Credentials } from "../credentials/credentials.ts";
import { apiErrorFrom } from "./api-error.ts";
import { agentFor, CONNECT_TIMEOUT_MS } from "./transport.ts";

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** Of a frame; the first byte names its channel. What kubelets send is 32 KiB at most. */
const MAX_FRAME_BYTES = 1024 * 1024;
const PROTOCOL = "v4.channel.k8s.io";
const DATA = 0;
/** Text about the connection in the pod. */
const FAULT = 1;

/**
 * A connection to a port in the network namespace of a pod, through the API server and the pod's kubelet (right `get` of
 * `pods/portforward`, from Kubernetes 1.35 on `create` too). Throws `ApiError` for a refusal. What goes wrong in the pod destroys the
 * connection.
 */
export async function forwardPort(credentials: Credentials, target: PodPort, signal?: AbortSignal): Promise<Duplex> {
  signal?.throwIfAborted();
  const { tls, headers, repeated } = await credentials.current();
  const [namespace, pod] = [target.namespace, target.pod].map(encodeURIComponent);
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/portforward?ports=${target.port}`;
  const socket = new WebSocket(`${credentials.server.replace(/^http/, "ws")}${path}`, PROTOCOL, {
    agent: agentFor(credentials, tls),
    headers: { ...headers, ...repeated } as Record<string, string>,
    handshakeTimeout: CONNECT_TIMEOUT_MS,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  const opened = Promise.withResolvers<Duplex>();
  const abort = (): void => opened.reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  socket.on("error", opened.reject);
  socket.once("open", () => opened.resolve(new PodConnection(socket)));
  socket.once("unexpected-response", (_request, answer: IncomingMessage) => {
    const refusal = text(answer).then((body) =>
      apiErrorFrom({ status: answer.statusCode ?? 0, body, request: `GET ${path}` }),
    );
    refusal.then(opened.reject, opened.reject);
  });
  try {
    return await opened.promise;
  } catch (error) {
    socket.terminate();
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

class PodConnection extends Duplex {
  readonly #socket: WebSocket;
  /** Channels that have told the number of the port, as each does first. */
  readonly #begun = new Set<number>();

  constructor(socket: WebSocket) {
    super();
    this.#socket = socket;
    socket.on("message", (frame: Buffer) => this.#take(frame));
    socket.once("close", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
  }

  #take(frame: Buffer): void {
    const channel = frame[0] ?? DATA;
    if (!this.#begun.has(channel)) this.#begun.add(channel);
    else if (channel === FAULT) this.destroy(new Error(frame.subarray(1).toString().trim()));
    else if (!this.push(frame.subarray(1))) this.#socket.pause();
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.send(Buffer.concat([Buffer.of(DATA), chunk]), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.close();
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.terminate();
    done(error);
  }
}
