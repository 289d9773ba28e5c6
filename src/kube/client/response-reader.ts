import type { ClientRequest, IncomingMessage } from "node:http";
import { ConnectionError } from "./api-error.ts";
import type { TransportResponse } from "./transport.ts";

/** Above this much unread data the socket is paused until the reader has caught up. */
const MAX_UNREAD_BYTES = 1024 * 1024;

export interface ResponseTimeouts {
  /** Until there is a connection, TLS included. */
  readonly connectMs: number;
  /** From the connection to the headers. */
  readonly headersMs: number;
  /** Longest silence in the body; 0 for no limit. */
  readonly idleMs: number;
}

/** Turns the events of one request into a promise of the headers and an async iterable of the body. */
export class ResponseReader implements AsyncIterator<Buffer>, AsyncIterable<Buffer> {
  readonly response: Promise<TransportResponse>;
  readonly #name: string;
  readonly #signal: AbortSignal | undefined;
  readonly #timeouts: ResponseTimeouts;
  readonly #request: ClientRequest;
  readonly #resolve: (response: TransportResponse) => void;
  readonly #reject: (error: unknown) => void;
  /** Nothing is sent before there is a connection. */
  #connected = false;
  #timer: NodeJS.Timeout | undefined;
  #isLate = false;
  #message: IncomingMessage | undefined;
  #chunks: Buffer[] = [];
  #unreadBytes = 0;
  #ended = false;
  #error: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** `name` is method and URL, for messages. The request is not ended yet. */
  constructor(name: string, request: ClientRequest, timeouts: ResponseTimeouts, signal: AbortSignal | undefined) {
    this.#name = name;
    this.#request = request;
    this.#timeouts = timeouts;
    this.#signal = signal;
    const { promise, resolve, reject } = Promise.withResolvers<TransportResponse>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.#expect("no connection", timeouts.connectMs);
    request.once("socket", (socket) => {
      // A tunnel through a proxy is connected before it carries plain HTTP.
      if (request.reusedSocket || !("encrypted" in socket || socket.connecting)) this.#onConnect();
      else socket.once("encrypted" in socket ? "secureConnect" : "connect", this.#onConnect);
    });
    request.once("response", (message) => this.#onResponse(message));
    request.on("error", (cause) => this.#onError(cause));
  }

  readonly #onConnect = (): void => {
    this.#connected = true;
    this.#expect("no answer", this.#timeouts.headersMs);
  };

  #onResponse(message: IncomingMessage): void {
    this.#message = message;
    message.on("data", (chunk: Buffer) => this.#onData(chunk));
    message.once("end", () => this.#onEnd());
    message.on("error", (cause) => this.#onError(cause));
    this.#expect("nothing more", this.#timeouts.idleMs);
    this.#resolve({ status: message.statusCode ?? 0, headers: message.headers, body: this });
  }

  #onData(chunk: Buffer): void {
    this.#isLate = false;
    this.#timer?.refresh();
    this.#chunks.push(chunk);
    this.#unreadBytes += chunk.length;
    if (this.#unreadBytes > MAX_UNREAD_BYTES) this.#message?.pause();
    this.#wake?.();
  }

  #onEnd(): void {
    this.#ended = true;
    this.#release();
  }

  #onError(cause: Error): void {
    this.#fail(new ConnectionError(`${this.#name}: ${sentence(cause)}`, { written: this.#connected, cause }));
  }

  /**
   * Starts to wait for what comes next. It counts as missing after the second half of the time: when this process itself has stood
   * still, a timer ends before the answer that lies in the socket is read. Nobody is silent while the reader does not read.
   */
  #expect(missing: string, ms: number): void {
    clearTimeout(this.#timer);
    this.#isLate = false;
    const onHalf = (): void => {
      const isUnread = this.#message?.isPaused() ?? false;
      if (this.#isLate && !isUnread) this.#onError(new Silence(missing, ms));
      else this.#timer?.refresh();
      this.#isLate = !isUnread;
    };
    this.#timer = ms === 0 ? undefined : setTimeout(onHalf, ms / 2);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Buffer, undefined>> {
    for (;;) {
      if (this.#unreadBytes > 0) {
        const value = this.#unread();
        this.#chunks = [];
        this.#unreadBytes = 0;
        if (this.#message?.isPaused()) this.#message.resume();
        return { done: false, value };
      }
      if (this.#error) {
        throw this.#error.error;
      }
      if (this.#ended) {
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  /** In memory of its own: a piece of Node's shared slab would keep all 64 KiB of it while a watch waits for the next. */
  #unread(): Buffer {
    const bytes = Buffer.allocUnsafeSlow(this.#unreadBytes);
    let end = 0;
    for (const chunk of this.#chunks) end += chunk.copy(bytes, end);
    return bytes;
  }

  /** The reader leaves: the rest is not wanted. */
  async return(): Promise<IteratorResult<Buffer, undefined>> {
    if (!this.#ended) {
      this.#fail(new ConnectionError(`${this.#name}: left before its end`, { written: true }));
    }
    return { done: true, value: undefined };
  }

  readonly #onAbort = () => this.#fail(this.#signal?.reason);

  #fail(error: unknown): void {
    if (this.#ended || this.#error) {
      return;
    }
    this.#error = { error };
    this.#reject(error);
    this.#release();
    this.#request.destroy();
  }

  #release(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#wake?.();
  }
}

/** Whoever does not answer in time. */
class Silence extends Error {
  readonly code = "ETIMEDOUT";

  constructor(missing: string, ms: number) {
    super(`${missing} within ${ms / 1000} s`);
  }
}

function sentence(cause: Error): string {
  const code = (cause as { code?: string }).code;
  const inner = cause instanceof AggregateError ? cause.errors.map((error) => (error as Error).message).join(", ") : "";
  const message = cause.message || inner || "connection failed";
  return code && !message.includes(code) ? `${message} (${code})` : message;
}
