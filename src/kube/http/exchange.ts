import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Deadline, Deadlines } from "./deadlines.ts";
import { type HttpAnswer, HttpError, type HttpRequest, textAnswer } from "./http-handler.ts";
import { readBody } from "./request-body.ts";
import { parseTarget, type Target } from "./request-target.ts";
import type { Routes } from "./routes.ts";

/** What all requests of a server have in common. */
export interface ExchangeOptions {
  readonly routes: Routes;
  readonly deadlines: Deadlines;
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  /** Told of what a handler threw that is no answer. */
  readonly onFailure: (error: unknown, incoming: IncomingMessage) => void;
}

/**
 * One request and the one answer it gets: its handler's, or that its time is over, whichever comes first.
 */
export class Exchange implements HttpRequest {
  readonly #incoming: IncomingMessage;
  readonly #options: ExchangeOptions;
  readonly #write: (answer: HttpAnswer) => void;
  readonly #deadline: Deadline;
  readonly #gone = new AbortController();
  #target: Target = NO_TARGET;
  #isAnswered = false;

  /** `write` is called with the answer, once, unless the client goes away before. */
  constructor(incoming: IncomingMessage, options: ExchangeOptions, write: (answer: HttpAnswer) => void) {
    this.#incoming = incoming;
    this.#options = options;
    this.#write = write;
    const { deadlines, timeoutMs } = options;
    this.#deadline = deadlines.add(timeoutMs, () =>
      this.#giveUp(new HttpError(503, `not answered within ${timeoutMs} ms`)),
    );
  }

  get method(): string {
    return this.#incoming.method ?? "GET";
  }

  get path(): string {
    return this.#target.path;
  }

  get search(): string {
    return this.#target.search;
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.search);
  }

  get headers(): IncomingHttpHeaders {
    return this.#incoming.headers;
  }

  body(): Promise<Buffer> {
    return readBody(this.#incoming, this.#options.maxBodyBytes);
  }

  answerWithin(limitMs: number, late: () => HttpError): void {
    this.#deadline.shorten(limitMs, () => this.#giveUp(late()));
  }

  async run(): Promise<void> {
    let answer: HttpAnswer;
    try {
      answer = await this.#handle();
    } catch (error) {
      if (this.#isAnswered) return;
      answer = this.#answerOf(error);
    }
    this.#answer(answer);
  }

  /** The connection is free, or gone before the answer was out. */
  close(isOut: boolean): void {
    this.#deadline.cancel();
    if (isOut) return;
    this.#isAnswered = true;
    this.#gone.abort(new HttpError(499, "the client went away"));
  }

  #handle(): Promise<HttpAnswer> | HttpAnswer {
    this.#target = parseTarget(this.#incoming.url ?? "/");
    const { method, path } = this;
    const match = this.#options.routes.match(method, path);
    if (match.type === "unknown") return textAnswer(404, `nothing at ${path}`);
    if (match.type === "wrong-method") {
      const answer = textAnswer(405, `${method} is not possible here`);
      return { ...answer, headers: { ...answer.headers, allow: match.allowed.join(", ") } };
    }
    return match.handler(this, this.#gone.signal);
  }

  #answerOf(error: unknown): HttpAnswer {
    if (error instanceof HttpError) return textAnswer(error.status, error.message);
    if (error instanceof URIError) return textAnswer(400, "the path is not valid");
    this.#options.onFailure(error, this.#incoming);
    return textAnswer(500, "internal error");
  }

  /** Does not wait for the handler any more, which may ignore its signal. */
  #giveUp(reason: HttpError): void {
    this.#gone.abort(reason);
    this.#answer(this.#answerOf(reason));
  }

  #answer(answer: HttpAnswer): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#write(answer);
  }
}

const NO_TARGET: Target = { path: "/", search: "" };
