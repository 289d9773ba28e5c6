import type { Dispatcher } from "undici";
import { ConnectionError } from "./api-error.ts";
import type { ResponseBody, TransportResponse } from "./transport.ts";

/** Above this much unread data the socket is paused until the reader has caught up. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/**
 * A busy watch is given rests, because each turn costs as much as decoding several events: long enough for about one full
 * read of the socket to gather, and never longer than this. What comes after a while of silence is given at once.
 */
const REST_MS = 20;
const BUSY_MS = 40;
/** What a TLS socket reads at once. */
const READ_BYTES = 16 * 1024;
/** After most of that there may be more: the rest is one turn of the loop. */
const FULL_READ_BYTES = 12 * 1024;
/** Kept for the bursts of a watch. */
const MAX_ROOM_BYTES = 64 * 1024;
/**
 * The socket stops reading as soon as it holds anything that nobody takes: while we rest events pile up in the kernel, at
 * no cost, and then come together.
 */
export const SOCKET_BUFFER_BYTES = 1;

/**
 * Turns undici's callbacks into a promise of the headers and an async iterable of the body. A dispatch handler rather
 * than a `Readable`: one object a request, no stream machinery.
 */
export class ResponseReader implements Dispatcher.DispatchHandler, AsyncIterator<Buffer>, ResponseBody {
  readonly response: Promise<TransportResponse>;
  readonly #name: string;
  readonly #signal: AbortSignal | undefined;
  readonly #resolve: (response: TransportResponse) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #chunks: Buffer[] = [];
  #unreadBytes = 0;
  /** Set when the whole body is wanted: no pauses, but an end. */
  #maxBytes: number | undefined;
  #pieceBytes = 1;
  #bursts = false;
  #room: Buffer | undefined;
  #givenAtMs = Number.NEGATIVE_INFINITY;
  /** When the last rest of some length began, and how much was given since. */
  #restedAtMs = Number.NEGATIVE_INFINITY;
  #givenBytes = 0;
  #rest: NodeJS.Timeout | NodeJS.Immediate | undefined;
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
    if (this.#maxBytes !== undefined) {
      this.#checkLength(this.#maxBytes);
      return;
    }
    if (this.#unreadBytes > MAX_UNREAD_BYTES) {
      controller.pause();
    }
    if (this.#unreadBytes >= this.#pieceBytes && this.#rest === undefined) {
      this.#wake?.();
    }
  }

  onResponseEnd(): void {
    this.#ended = true;
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#endRest();
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
      if (
        (this.#unreadBytes >= this.#pieceBytes && this.#rest === undefined) ||
        (this.#ended && this.#unreadBytes > 0)
      ) {
        const value = this.#takeUnread();
        this.#controller?.resume();
        this.#startRest(value.length);
        return { done: false, value };
      }
      if (this.#error) {
        throw this.#error.error;
      }
      if (this.#ended) {
        return { done: true, value: undefined };
      }
      await this.#news();
    }
  }

  async all(maxBytes: number): Promise<Buffer> {
    this.#maxBytes = maxBytes;
    this.#checkLength(maxBytes);
    this.#controller?.resume();
    while (!this.#ended && !this.#error) {
      await this.#news();
    }
    if (this.#error) {
      throw this.#error.error;
    }
    return this.#takeUnread();
  }

  inPieces(minBytes: number): this {
    this.#pieceBytes = minBytes;
    return this;
  }

  inBursts(): this {
    this.#bursts = true;
    return this;
  }

  /** Until it ends neither we nor the parser look at what comes. */
  #startRest(givenBytes: number): void {
    if (!this.#bursts || this.#ended || this.#error) {
      return;
    }
    const now = performance.now();
    const busy = now - this.#givenAtMs < BUSY_MS;
    this.#givenAtMs = now;
    this.#givenBytes += givenBytes;
    if (!busy) {
      return;
    }
    this.#controller?.pause();
    if (givenBytes > FULL_READ_BYTES) {
      this.#rest = setImmediate(() => this.#restOneTurn());
      return;
    }
    const gatherMs = (READ_BYTES * (now - this.#restedAtMs)) / this.#givenBytes;
    this.#rest = setTimeout(() => this.#endRest(), Math.min(REST_MS, gatherMs));
    this.#restedAtMs = now;
    this.#givenBytes = 0;
  }

  /** The loop reads from sockets between two immediates. */
  #restOneTurn(): void {
    this.#rest = setImmediate(() => this.#endRest());
  }

  #endRest(): void {
    clearTimeout(this.#rest as NodeJS.Timeout | undefined);
    clearImmediate(this.#rest as NodeJS.Immediate | undefined);
    this.#rest = undefined;
    this.#controller?.resume();
    this.#wake?.();
  }

  #takeUnread(): Buffer {
    const chunks = this.#chunks;
    const [first] = chunks;
    const bytes = chunks.length === 1 && first ? first : this.#joined(chunks, this.#unreadBytes);
    this.#chunks = [];
    this.#unreadBytes = 0;
    return bytes;
  }

  /** Bursts come in the same buffer: new ones, freed late, would make the process collect its whole heap more often. */
  #joined(chunks: readonly Buffer[], bytes: number): Buffer {
    if (!this.#bursts || bytes > MAX_ROOM_BYTES) {
      return Buffer.concat(chunks, bytes);
    }
    this.#room ??= Buffer.allocUnsafeSlow(MAX_ROOM_BYTES);
    let at = 0;
    for (const chunk of chunks) {
      at += chunk.copy(this.#room, at);
    }
    return this.#room.subarray(0, at);
  }

  /** The reader goes away: what is not read yet is not wanted. */
  async return(): Promise<IteratorResult<Buffer, undefined>> {
    if (!this.#ended) {
      this.#fail(new ConnectionError(`${this.#name}: left before its end`, { written: true }));
    }
    return { done: true, value: undefined };
  }

  async #news(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }

  #checkLength(maxBytes: number): void {
    if (this.#unreadBytes > maxBytes) {
      this.#fail(new ConnectionError(`${this.#name}: the answer is longer than ${maxBytes} bytes`, { written: true }));
    }
  }

  readonly #onAbort = () => this.#fail(this.#signal?.reason);

  #fail(error: unknown): void {
    if (this.#ended || this.#error) {
      return;
    }
    this.#error = { error };
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#reject(error);
    this.#endRest();
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
