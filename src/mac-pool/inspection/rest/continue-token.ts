import { createHash } from "node:crypto";
import { badRequest, Problem } from "./problem.ts";

/** As long as the API server's own tokens are good by default. A page that was left open begins anew. */
const KEPT_MS = 5 * 60_000;
/** Times of replicas differ. */
const MAX_SKEW_MS = 60_000;
const FILTER_CHARS = 12;

/**
 * Where the next page begins, for any replica: the key of the last item of the page before, and the filter and the time of the
 * question. Nothing in it is secret: a forged one leads to a page that the reader may see anyway.
 */
export function writeToken(after: number | string, filter: object, nowMs: number): string {
  return Buffer.from(JSON.stringify([after, digest(filter), nowMs])).toString("base64url");
}

/**
 * The key of the last item of the page before, as `keyOf` reads it: undefined for what is no key. Throws a Problem for a token
 * that was not made here, or for another filter, or long ago.
 */
export function readToken<K>(
  token: string,
  filter: object,
  nowMs: number,
  keyOf: (after: unknown) => K | undefined,
): K {
  const fields = parse(Buffer.from(token, "base64url").toString("utf8"));
  const [after, of, madeMs] = Array.isArray(fields) && fields.length === 3 ? fields : [];
  const key = keyOf(after);
  if (key === undefined || of !== digest(filter) || typeof madeMs !== "number") {
    const detail = "continue is not a token for this filter: ask for the first page, without continue.";
    throw badRequest("continue", detail);
  }
  if (nowMs - madeMs > KEPT_MS || madeMs - nowMs > MAX_SKEW_MS) {
    const detail = "The token in continue is older than five minutes: ask for the first page, without continue.";
    throw new Problem("MACPOOL_EXPIRED", detail, { parameter: "continue" });
  }
  return key;
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
