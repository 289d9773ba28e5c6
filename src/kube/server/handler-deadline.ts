import type { ServerResponse } from "node:http";
import { HttpError } from "./http-error.ts";

/** How often to check. An API server waits at least a second for a webhook, of which nine tenths are the limit. */
const CHECK_MS = 50;

/** The reply of a handler, of fastify or of RouteServer. */
interface Reply {
  readonly raw: ServerResponse;
  send(error: HttpError): unknown;
}

/** A handler at work. */
interface AtWork {
  readonly endsAtMs: number;
  readonly giveUp: () => void;
}

/** Checks all handlers at work with one timer: making and ending one for each is 5 us of an admission of 80. */
class Deadlines {
  readonly #atWork = new Set<AtWork>();
  #timer: NodeJS.Timeout | undefined;

  add(handler: AtWork): void {
    this.#atWork.add(handler);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS);
  }

  delete(handler: AtWork): void {
    this.#atWork.delete(handler);
  }

  #check(): void {
    const nowMs = performance.now();
    for (const handler of this.#atWork) {
      if (handler.endsAtMs > nowMs) continue;
      this.#atWork.delete(handler);
      handler.giveUp();
    }
    if (this.#atWork.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const deadlines = new Deadlines();

/**
 * Bounds a handler that is at work: `stop` aborts when the client goes away, or within 50 ms after `limitMs`: then `late()`
 * is the answer, whatever the handler does. Not fastify's `request.signal` and `handlerTimeout`: in 5.12 both end with the body
 * of a POST.
 */
export function setHandlerDeadline(
  reply: Reply,
  limitMs: number,
  late: () => HttpError,
  stop = new AbortController(),
): AbortSignal {
  const giveUp = (): void => {
    const error = late();
    stop.abort(error);
    reply.send(error);
  };
  const handler = { endsAtMs: performance.now() + limitMs, giveUp };
  deadlines.add(handler);
  reply.raw.once("close", () => {
    deadlines.delete(handler);
    if (!reply.raw.writableFinished) stop.abort(new HttpError(499, "the client went away"));
  });
  return stop.signal;
}
