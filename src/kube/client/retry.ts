import { ApiError, ConnectionError } from "./api-error.ts";

/** How often a call is repeated after refusals with a Retry-After (429, 503 while starting or shutting down). */
export const MAX_THROTTLED_RETRIES = 8;
/** How often a request that was not sent, or a read whose connection broke, is repeated. */
const MAX_CONNECTION_RETRIES = 2;
/** Longest single wait that the server may ask for; above it the caller gets the refusal. */
export const MAX_RETRY_AFTER_MS = 30_000;
/** Wait after a 429 without Retry-After. */
const DEFAULT_THROTTLE_MS = 1_000;
const CONNECTION_RETRY_MS = 50;

export interface Attempts {
  readonly throttled: number;
  readonly connection: number;
}

export type RetryDecision = { readonly retry: false } | { readonly retry: true; readonly delayMs: number };

/**
 * Whether a failed request may be repeated. Only if that cannot write twice: the server says that it did nothing (429, or
 * 5xx with Retry-After, as in client-go), nothing was sent, or it was a read.
 */
export function retryDecision(method: string, error: unknown, attempts: Attempts, random: () => number): RetryDecision {
  if (error instanceof ApiError) {
    const waitMs = error.retryAfterMs ?? (error.status === 429 ? DEFAULT_THROTTLE_MS : undefined);
    const throttled = error.status === 429 || (error.status >= 500 && error.retryAfterMs !== undefined);
    if (
      !throttled ||
      waitMs === undefined ||
      waitMs > MAX_RETRY_AFTER_MS ||
      attempts.throttled >= MAX_THROTTLED_RETRIES
    ) {
      return { retry: false };
    }
    return { retry: true, delayMs: waitMs * (1 + random() / 4) };
  }
  if (error instanceof ConnectionError && attempts.connection < MAX_CONNECTION_RETRIES) {
    if (!error.written || method === "GET") {
      return { retry: true, delayMs: CONNECTION_RETRY_MS * 2 ** attempts.connection * (1 + random()) };
    }
  }
  return { retry: false };
}
