/** What an error of a list or a watch means to the reflector. Pure. */

import { ApiError, isGone, isNotFound } from "../client/api-error.ts";
import type { Fault } from "./reflector.ts";

export function faultOf(error: unknown): Fault {
  if (isGone(error)) {
    return { kind: "gone" };
  }
  if (isNotFound(error)) {
    return { kind: "absent" };
  }
  if (error instanceof ApiError) {
    const refused = error.status < 500 && ![401, 403, 429].includes(error.status);
    return { kind: refused ? "refused" : "broken", retryAfterMs: error.retryAfterMs };
  }
  return { kind: "broken" };
}
