import { describe, expect, test } from "vitest";
import { ApiError, ConnectionError } from "../../../src/kube/client/api-error.ts";
import { MAX_RETRY_AFTER_MS, MAX_THROTTLED_RETRIES, retryDecision } from "../../../src/kube/client/retry.ts";

const NONE = { throttled: 0, connection: 0 };
const decide = (method: string, error: unknown, attempts = NONE) => retryDecision(method, error, attempts, () => 0);
const refused = (status: number, retryAfterMs?: number) =>
  new ApiError({ status, reason: "", message: "", retryAfterMs });

describe("a failed request", () => {
  test("is repeated when the server throttled it, after the time it named or a second", () => {
    expect(decide("POST", refused(429, 3_000))).toEqual({ retry: true, delayMs: 3_000 });
    expect(decide("POST", refused(429))).toEqual({ retry: true, delayMs: 1_000 });
    expect(decide("PUT", refused(503, 1_000))).toEqual({ retry: true, delayMs: 1_000 });
  });

  test("is spread over a quarter more than the time named, so that not all come back at once", () => {
    expect(retryDecision("GET", refused(429, 4_000), NONE, () => 1)).toEqual({ retry: true, delayMs: 5_000 });
  });

  test("is not repeated when the server may have done something, or wants us away for long, or too often", () => {
    expect(decide("POST", refused(500)).retry).toBe(false);
    expect(decide("GET", refused(503)).retry).toBe(false);
    expect(decide("GET", refused(404, 1_000)).retry).toBe(false);
    expect(decide("GET", refused(429, MAX_RETRY_AFTER_MS + 1)).retry).toBe(false);
    expect(decide("GET", refused(429), { throttled: MAX_THROTTLED_RETRIES, connection: 0 }).retry).toBe(false);
  });

  test("whose connection broke is repeated if it was a read or never left, twice", () => {
    const broken = new ConnectionError("", { written: true });
    const unsent = new ConnectionError("", { written: false });
    expect(decide("GET", broken).retry).toBe(true);
    expect(decide("POST", broken).retry).toBe(false);
    expect(decide("POST", unsent).retry).toBe(true);
    expect(decide("POST", unsent, { throttled: 0, connection: 2 }).retry).toBe(false);
  });

  test("that failed by our own doing is not repeated", () => {
    expect(decide("GET", new TypeError("bug")).retry).toBe(false);
  });
});
