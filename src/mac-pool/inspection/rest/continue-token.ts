import { createHash } from "node:crypto";
import { type Mac, macFromNumber } from "../../../api/mac.ts";

/** As long as the API server's own tokens are good by default. A page that was left open begins anew. */
const KEPT_MS = 5 * 60_000;
/** Times of replicas differ. */
const MAX_SKEW_MS = 60_000;
const FILTER_CHARS = 12;

/**
 * Where the next page begins, for any replica: the last address of the page before, and the filter and the time of the
 * question. Nothing in it is secret: a forged one leads to a page that the reader may see anyway.
 */
export function writeToken(after: Mac, filter: object, nowMs: number): string {
  return Buffer.from(JSON.stringify([after, digest(filter), nowMs])).toString("base64url");
}

/** The last address of the page before. `foreign`: the token was not made here, or for another filter. */
export function readToken(token: string, filter: object, nowMs: number): Mac | "foreign" | "expired" {
  const fields = parse(Buffer.from(token, "base64url").toString("utf8"));
  if (!Array.isArray(fields) || fields.length !== 3) return "foreign";
  const [after, of, madeMs] = fields;
  const mac = typeof after === "number" ? macFromNumber(after) : undefined;
  if (mac === undefined || of !== digest(filter) || typeof madeMs !== "number") return "foreign";
  if (nowMs - madeMs > KEPT_MS || madeMs - nowMs > MAX_SKEW_MS) return "expired";
  return mac;
}

function digest(filter: object): string {
  const set = Object.entries(filter).filter(([, value]) => value !== undefined);
  const text = JSON.stringify(set.sort(([one], [other]) => (one < other ? -1 : 1)));
  return createHash("sha256").update(text).digest("base64url").slice(0, FILTER_CHARS);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
