import type { FastifyReply } from "fastify";
import { HttpError } from "./http-error.ts";

/**
 * Bounds a handler that is at work: `stop` aborts when the client goes away, or after `limitMs`: then `late()` is the
 * answer, whatever the handler does. Not fastify's `request.signal` and `handlerTimeout`: in 5.12 both end with the body
 * of a POST.
 */
export function answerWithin(
  reply: FastifyReply,
  limitMs: number,
  late: () => HttpError,
  stop = new AbortController(),
): AbortSignal {
  const timer = setTimeout(() => {
    const error = late();
    stop.abort(error);
    reply.send(error);
  }, limitMs);
  reply.raw.once("close", () => {
    clearTimeout(timer);
    if (!reply.raw.writableFinished) stop.abort(new HttpError(499, "the client went away"));
  });
  return stop.signal;
}
