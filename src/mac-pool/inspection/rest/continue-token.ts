import { createHash } from "node:crypto";
import { type Mac, macFromNumber } from "../../../api/mac.ts";

/** As long as the API server's own tokens are good by default. A page that was left open begins anew. */
const KEPT_MS = 5 * 60_000;
/** Times of replicas differ. */
const MAX_SKEW_MS = 60_000;
const FILTER_CHARS = 12;

export type ReadToken =
  | { readonly ok: true; readonly after: Mac }
  /** `foreign`: not made here, or for another filter. */
  | { readonly ok: false; readonly why: "foreign" | "expired" };

/**
 * Where the next page begins, for any replica: the last address of the page before, and the filter and the time of the
 * question. Nothing in it is secret, and whoever makes one up gets a page of what he may see anyway.
 */
export function writeToken(after: Mac, filter: object, nowMs: number): string {
  return Buffer.from(JSON.stringify([after, digest(filter), nowMs])).toString("base64url");
}

export function readToken(token: string, filter: object, nowMs: number): ReadToken {
  const foreign = { ok: false, why: "foreign" } as const;
  const fields = parse(Buffer.from(token, "base64url").toString("utf8"));
  if (!Array.isArray(fields) || fields.length !== 3) return foreign;
  const [after, of, madeMs] = fields;
  const mac = typeof after === "number" ? macFromNumber(after) : undefined;
  if (mac === undefined || of !== digest(filter) || typeof madeMs !== "number") return foreign;
  if (nowMs - madeMs > KEPT_MS || madeMs - nowMs > MAX_SKEW_MS) return { ok: false, why: "expired" };
  return { ok: true, after: mac };
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
