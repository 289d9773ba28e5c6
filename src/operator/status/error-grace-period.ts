/**
 * Which errors are worth a status. What the API server refuses for a reason stays refused; an answer that does not come, as
 * while the API server restarts, is tried again for a while first.
 */

import { ApiError } from "../../kube/client/api-error.ts";
import type { Clock } from "../../kube/clock.ts";

const GRACE_PERIOD_MS = 10_000;
const REFUSED = new Set([400, 403, 404, 405, 413, 422]);

export class ErrorGracePeriod {
  readonly #clock: Clock;
  readonly #limitMs: number;
  #sinceMs: number | undefined;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = Math.min(GRACE_PERIOD_MS, limitMs);
  }

  isOver(error: unknown): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#sinceMs ??= nowMs;
    return isRefusal(error) || nowMs - this.#sinceMs >= this.#limitMs;
  }

  /** Everything was answered. */
  reset(): void {
    this.#sinceMs = undefined;
  }
}

function isRefusal(error: unknown): boolean {
  if (error instanceof ApiError) return REFUSED.has(error.status);
  return error instanceof Error && error.cause !== undefined && isRefusal(error.cause);
}
