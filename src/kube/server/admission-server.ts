/**
 * Admission webhooks as handlers of `route-server.ts`. A product brings `review`, a function from request to answer; the
 * codec is in `admission-review.ts`.
 */

import { type AdmissionAnswer, type AdmissionRequest, decodeReview, encodeReview } from "./admission-review.ts";
import { setHandlerDeadline } from "./handler-deadline.ts";
import { HttpError } from "./http-error.ts";
import type { PostHandler } from "./route-server.ts";

export type { AdmissionAnswer, AdmissionRequest } from "./admission-review.ts";

/** The signal aborts when the API server no longer waits, or soon will not: do not begin anything durable after that. */
export type Review = (request: AdmissionRequest, signal: AbortSignal) => Promise<AdmissionAnswer> | AdmissionAnswer;

/** The API server's default; it sends the actual one as `?timeout=10s`. */
const DEFAULT_TIMEOUT_MS = 10_000;
/** Our time ends before the caller's, so that the user reads our sentence and not "context deadline exceeded". */
const MARGIN = 0.1;

/**
 * A body that is not an AdmissionReview is answered 400. A `review` that throws or takes too long is answered 500 or 504:
 * then the webhook's failurePolicy decides, as it does when nobody answers. `onAnswered` gets how long each answer took,
 * once it is written: nobody waits while it is counted.
 */
export function admissionHandler(review: Review, onAnswered?: (tookMs: number) => void): PostHandler {
  return ({ body, search }, answer) => {
    const startMs = performance.now();
    const decoded = decodeReview(body);
    if (!decoded.ok) throw new HttpError(400, decoded.reason);
    const { request } = decoded;
    const send = (decision: AdmissionAnswer): void => {
      const tookMs = performance.now() - startMs;
      answer.send(encodeReview(request.uid, decision));
      onAnswered?.(tookMs);
    };
    const stop = new AbortController();
    const decided = review(request, stop.signal);
    // Most answers need no waiting, and so no timer.
    if (!(decided instanceof Promise)) return send(decided);
    const timeoutMs = timeoutOf(search);
    setHandlerDeadline(answer, timeoutMs, () => new HttpError(504, `no decision within ${timeoutMs} ms`), stop);
    decided.then(send, (error) => answer.send(error));
  };
}

let last = { search: "", timeoutMs: DEFAULT_TIMEOUT_MS };

/** Nine tenths of what the caller waits. Keeps the last one: an API server asks with the same one again and again. */
function timeoutOf(search: string): number {
  if (search !== last.search) {
    const timeout = new URLSearchParams(search).get("timeout") ?? "";
    last = { search, timeoutMs: parseTimeout(timeout) ?? DEFAULT_TIMEOUT_MS };
  }
  return (1 - MARGIN) * last.timeoutMs;
}

/** Go durations as the API server writes them: `10s`, `1m30s`, `500ms`. */
function parseTimeout(text: string): number | undefined {
  const match = text.match(/^(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$/);
  if (!match) return undefined;
  const [, minutes = "0", seconds = "0", milliseconds = "0"] = match;
  return Number(minutes) * 60_000 + Number(seconds) * 1000 + Number(milliseconds) || undefined;
}
