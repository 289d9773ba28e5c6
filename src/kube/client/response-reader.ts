import type { Dispatcher } from "undici";
import { ConnectionError } from "./api-error.ts";
import type { TransportResponse } from "./transport.ts";

/** Above this much unread data the socket is paused until the reader has caught up. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/**
 * Turns undici's callbacks into a promise of the headers and an async iterable of the body. It is a dispatch handler
 * because only undici's callbacks tell whether the request was sent before it failed.
 */
export class ResponseReader implements Dispatcher.DispatchHandler, AsyncIterator<Buffer>, AsyncIterable<Buffer> {
  readonly response: Promise<TransportResponse>;
  readonly #name: string;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: (response: TransportResponse) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Buffer[] = [];
  #unreadBytes = 0;
  #ended = false;
  #error: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** `name` is method and URL, for messages. */
  constructor(name: string, signal: AbortSignal | undefined) {
    this.#name = name;
    this.#signal = signal;
    const { promise, resolve, reject } = Promise.withResolvers<TransportResponse>();
    this.response = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#error) {
      controller.abort(asError(this.#error.error));
    }
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: TransportResponse["headers"]): void {
    if (status >= 200) {
      this.#resolve({ status, headers, body: this });
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#unreadBytes += chunk.length;
    if (this.#unreadBytes > MAX_UNREAD_BYTES) {
      controller.pause();
    }
    this.#wake?.();
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#wake?.();
  }

  onResponseError(_: Dispatcher.DispatchController, cause: Error): void {
    // undici announces a request right before its first byte: not announced means nothing was sent.
    const written = this.#controller !== undefined;
    this.#fail(new ConnectionError(`${this.#name}: ${sentence(cause)}`, { written, cause }));
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
        this.#controller?.resume();
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
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#reject(error);
    this.#wake?.();
    this.#controller?.abort(asError(error));
  }
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

function sentence(cause: Error): string {
  const code = (cause as { code?: string }).code;
  const inner = cause instanceof AggregateError ? cause.errors.map((error) => (error as Error).message).join(", ") : "";
  const message = cause.message || inner || "connection failed";
  return code && !message.includes(code) ? `${message} (${code})` : message;
}
