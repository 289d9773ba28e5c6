/**
 * Admission webhooks as handlers of `http/server`. A product brings `review`, a function from request to answer; the
 * codec is in `admission-review.ts`.
 */
import { HttpError, type HttpHandler } from "../http/http-handler.ts";
import { type AdmissionAnswer, type AdmissionRequest, decodeReview, encodeReview } from "./admission-review.ts";

export type { AdmissionAnswer, AdmissionRequest } from "./admission-review.ts";

/** The signal aborts when the API server has stopped waiting, or soon will: do not begin anything durable after that. */
export type Review = (request: AdmissionRequest, signal: AbortSignal) => Promise<AdmissionAnswer> | AdmissionAnswer;

/** The API server's default; it sends the actual one as `?timeout=10s`. */
const DEFAULT_TIMEOUT_MS = 10_000;
/** Our time ends before the caller's, so that the user reads our sentence and not "context deadline exceeded". */
const MARGIN = 0.1;
const JSON_HEADERS = { "content-type": "application/json" };

/**
 * A body that is not an AdmissionReview is answered 400. A `review` that throws or takes too long is answered 500 or 504:
 * then the webhook's failurePolicy decides, as it does when nobody answers.
 */
export function admissionHandler(review: Review): HttpHandler {
  let latest = { search: "", timeoutMs: timeoutOf("") };
  return async (http, signal) => {
    const decoded = decodeReview((await http.body()).toString("utf8"));
    if (!decoded.ok) {
      throw new HttpError(400, decoded.reason);
    }
    // The API server asks for the same time in each request.
    if (http.search !== latest.search) latest = { search: http.search, timeoutMs: timeoutOf(http.search) };
    const { timeoutMs } = latest;
    http.answerWithin(timeoutMs, () => new HttpError(504, `no decision within ${timeoutMs} ms`));
    const decided = review(decoded.request, signal);
    const answer = decided instanceof Promise ? await decided : decided;
    return { status: 200, headers: JSON_HEADERS, body: encodeReview(decoded.request.uid, answer) };
  };
}

function timeoutOf(search: string): number {
  return (1 - MARGIN) * (parseTimeout(new URLSearchParams(search).get("timeout")) ?? DEFAULT_TIMEOUT_MS);
}

/** Go durations as the API server writes them: `10s`, `1m30s`, `500ms`. */
function parseTimeout(text: string | null): number | undefined {
  const match = text?.match(/^(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$/);
  if (!match || text === "") {
    return undefined;
  }
  const [, minutes = "0", seconds = "0", milliseconds = "0"] = match;
  return Number(minutes) * 60_000 + Number(seconds) * 1000 + Number(milliseconds) || undefined;
}
