/** JSON that may be missing or damaged: what somebody wrote down earlier. */

import { isJsonObject, type JsonObject } from "./config-object.ts";

/** Undefined for what can't be read, is no JSON or no object. */
export function parseObject(read: () => string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(read());
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
