import { ApiError, ConnectionError } from "./api-error.ts";

/** Refusals that name a time to come back (429, 503 while starting or shutting down) are repeated this often. */
export const MAX_THROTTLED_RETRIES = 8;
/** A request that never left, or a read whose connection broke, is repeated this often. */
export const MAX_CONNECTION_RETRIES = 2;
/** Longest single wait the server may impose; above it the caller gets the refusal. */
export const MAX_RETRY_AFTER_MS = 30_000;
/** Wait after a 429 that names no time. */
const DEFAULT_THROTTLE_MS = 1_000;
const CONNECTION_RETRY_MS = 50;

export interface Attempts {
  readonly throttled: number;
  readonly connection: number;
}

export type RetryDecision = { readonly retry: false } | { readonly retry: true; readonly delayMs: number };

/**
 * Whether a failed request may be repeated as it is. Only where repeating cannot do a write twice: the server said it
 * did nothing (429, or 5xx with Retry-After as client-go reads it), nothing was sent, or it was a read.
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
