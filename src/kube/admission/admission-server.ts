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

/**
 * A body that is not an AdmissionReview is answered 400. A `review` that throws or takes too long is answered 500 or 504:
 * then the webhook's failurePolicy decides, as it does when nobody answers.
 */
export function admissionHandler(review: Review): HttpHandler {
  return async (http, gone) => {
    const decoded = decodeReview((await http.body()).toString("utf8"));
    if (!decoded.ok) {
      throw new HttpError(400, decoded.reason);
    }
    const timeoutMs = (1 - MARGIN) * (parseTimeout(http.query.get("timeout")) ?? DEFAULT_TIMEOUT_MS);
    const answer = await within(timeoutMs, gone, async (signal) => review(decoded.request, signal));
    return {
      status: 200,
      headers: { "content-type": "application/json" },
      body: encodeReview(decoded.request.uid, answer),
    };
  };
}

async function within<A>(timeoutMs: number, gone: AbortSignal, work: (signal: AbortSignal) => Promise<A>): Promise<A> {
  const controller = new AbortController();
  const late = Promise.withResolvers<never>();
  late.promise.catch(() => {});
  const end = (reason: unknown) => {
    controller.abort(reason);
    late.reject(reason);
  };
  const onGone = () => end(gone.reason);
  gone.addEventListener("abort", onGone, { once: true });
  const timer = setTimeout(() => end(new HttpError(504, `no decision within ${timeoutMs} ms`)), timeoutMs);
  try {
    const working = work(controller.signal);
    working.catch(() => {});
    return await Promise.race([working, late.promise]);
  } finally {
    clearTimeout(timer);
    gone.removeEventListener("abort", onGone);
  }
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
