import type { IncomingMessage } from "node:http";
import type { Clock } from "../clock.ts";
import { HttpError } from "./http-error.ts";

export interface BodyOptions {
  /** Of one body. */
  readonly maxBodyBytes: number;
  /** Of the bodies of all requests under way. */
  readonly maxBytes: number;
  readonly clock: Clock;
}

/** Most reviews are a tenth of it. */
const UNPACED_BYTES = 128 * 1024;
/** For what Node keeps of a body that nobody reads, 64 KiB: 16 MiB a second of all long bodies. */
const LONG_READ_EVERY_MS = 4;

interface Body {
  bytes: number;
  /** Ends the reading; absent once the body is complete. */
  refuse: ((error: HttpError) => void) | undefined;
}

/**
 * Reads bodies as text. A body counts until its request is answered. When all of them are too much for the memory they may
 * take, the longest incomplete one gives way: a client that sends big bodies slowly loses to those that send small ones.
 * What is long is read in turns, so that the thread has time for others however fast it is sent.
 */
export class Bodies {
  readonly #options: BodyOptions;
  readonly #held = new Map<IncomingMessage, Body>();
  readonly #longReads: RoundRobin;
  #bytes = 0;

  constructor(options: BodyOptions) {
    this.#options = options;
    this.#longReads = new RoundRobin(options.clock, LONG_READ_EVERY_MS);
  }

  /** Tells the text, or why there is none. */
  read(payload: IncomingMessage, done: (error: Error | null, text?: string) => void): void {
    const { headers, socket } = payload;
    const { maxBodyBytes, maxBytes } = this.#options;
    if (Number(headers["content-length"]) > maxBodyBytes) {
      done(this.#tooLong());
      return;
    }
    const chunks: Buffer[] = [];
    const end = (error: Error | null): void => {
      payload.off("data", onData).off("end", onEnd).off("error", refuse);
      body.refuse = undefined;
      if (error !== null) this.release(payload);
      done(error, error === null ? textOf(chunks) : undefined);
    };
    const refuse = (error: Error): void => end(error);
    const body: Body = { bytes: 0, refuse };
    const onData = (chunk: Buffer): void => {
      body.bytes += chunk.length;
      this.#bytes += chunk.length;
      chunks.push(chunk);
      if (body.bytes > maxBodyBytes) refuse(this.#tooLong());
      else if (this.#bytes > maxBytes) this.#longestIncomplete()?.(tooMuch());
      if (body.bytes <= UNPACED_BYTES) return;
      payload.pause();
      this.#longReads.wait(socket.remoteAddress ?? "", () => payload.resume());
    };
    const onEnd = (): void => end(null);
    this.#held.set(payload, body);
    payload.on("data", onData).on("end", onEnd).on("error", refuse);
  }

  /** The request is answered, or its client is gone. */
  release(payload: IncomingMessage): void {
    this.#bytes -= this.#held.get(payload)?.bytes ?? 0;
    this.#held.delete(payload);
  }

  #longestIncomplete(): Body["refuse"] {
    let longest: Body | undefined;
    for (const body of this.#held.values()) {
      if (body.refuse !== undefined && body.bytes > (longest?.bytes ?? 0)) longest = body;
    }
    return longest?.refuse;
  }

  #tooLong(): HttpError {
    return new HttpError(413, `the body is longer than ${this.#options.maxBodyBytes} bytes`);
  }
}

function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks;
  if (chunks.length === 1 && first !== undefined) return first.toString("utf8");
  const whole = Buffer.concat(chunks);
  const text = whole.toString("utf8");
  // Its memory goes back now: V8 counts it, and looks for what is free after every 64 MB only.
  if (whole.byteLength === whole.buffer.byteLength) whole.buffer.transfer(0);
  return text;
}

function tooMuch(): HttpError {
  return new HttpError(503, "the bodies of all requests under way take too much memory: try again");
}

/** Lets one of those who wait go every `everyMs`. Client addresses take turns; those of one address go in order. */
export class RoundRobin {
  readonly #clock: Clock;
  readonly #everyMs: number;
  /** The address whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** Calls `go` once. */
  wait(address: string, go: () => void): void {
    const isFirst = this.#waiting.size === 0;
    const ofAddress = this.#waiting.get(address);
    if (ofAddress === undefined) this.#waiting.set(address, [go]);
    else ofAddress.push(go);
    if (isFirst) this.#scheduleNext();
  }

  #scheduleNext(): void {
    this.#clock.after(this.#everyMs, () => {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [address, [go, ...others]] = next;
      this.#waiting.delete(address);
      if (others.length > 0) this.#waiting.set(address, others);
      if (this.#waiting.size > 0) this.#scheduleNext();
      go?.();
    });
  }
}
