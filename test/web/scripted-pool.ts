import type { ProblemView, WatchEventView } from "../../src/mac-pool/inspection/rest/views.ts";

/** A pool in the place of `fetch`: it refuses as often as it is told, and then opens a stream for each request. */
export class ScriptedPool {
  readonly streams: ScriptedStream[] = [];
  readonly refusals: Response[] = [];

  readonly fetch = async (address: string, { signal, headers }: ScriptedRequest): Promise<Response> => {
    const refusal = this.refusals.shift();
    if (refusal !== undefined) return refusal;
    const stream = new ScriptedStream(address, headers, signal);
    this.streams.push(stream);
    return new Response(stream.body, { headers: { "content-type": "text/event-stream" } });
  };

  /** The newest one. */
  get stream(): ScriptedStream {
    const stream = this.streams.at(-1);
    if (stream === undefined) throw new Error("nobody has asked");
    return stream;
  }

  refuse(status: number, code: string, detail: string, headers: Readonly<Record<string, string>> = {}): void {
    const body: ProblemView = { type: `urn:macpool:${code}`, code, title: code, status, detail };
    const type = { "content-type": "application/problem+json" };
    this.refusals.push(new Response(JSON.stringify(body), { status, headers: { ...type, ...headers } }));
  }
}

interface ScriptedRequest {
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
}

export class ScriptedStream {
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ReadableStream<Uint8Array>;
  /** Whether the reader has left. */
  isLeft = false;
  readonly #pieces = new TransformStream<Uint8Array, Uint8Array>();
  readonly #writer = this.#pieces.writable.getWriter();

  constructor(address: string, headers: Readonly<Record<string, string>>, signal: AbortSignal) {
    this.address = address;
    this.headers = headers;
    this.body = this.#pieces.readable;
    this.#writer.closed.catch(() => {});
    signal.addEventListener("abort", () => {
      this.isLeft = true;
      this.#writer.abort(signal.reason).catch(() => {});
    });
  }

  /** Events in one piece. */
  tell(...events: readonly WatchEventView<unknown>[]): void {
    const text = events.map((event) => `id: a-1\ndata: ${JSON.stringify(event)}\n\n`).join("");
    this.#writer.write(new TextEncoder().encode(text)).catch(() => {});
  }

  /** The connection breaks. */
  cut(): void {
    this.#writer.abort(new TypeError("network error")).catch(() => {});
  }
}
