/** Refusals of inspection: RFC 9457 problems with stable codes. */

import type { ProblemView } from "../rest/envelopes.ts";

export type ProblemCode =
  | "MACPOOL_BAD_REQUEST"
  | "MACPOOL_UNAUTHENTICATED"
  | "MACPOOL_FORBIDDEN"
  | "MACPOOL_BAD_PATH"
  | "MACPOOL_NOT_FOUND"
  | "MACPOOL_UNKNOWN_PATH"
  | "MACPOOL_METHOD_NOT_ALLOWED"
  | "MACPOOL_EXPIRED"
  | "MACPOOL_BODY_TOO_LONG"
  | "MACPOOL_TOO_MANY_QUESTIONS"
  | "MACPOOL_TOO_MANY_VIEWERS"
  | "MACPOOL_BUSY"
  | "MACPOOL_NOT_READY"
  | "MACPOOL_UNAVAILABLE"
  | "MACPOOL_INTERNAL";

const STATUS: Readonly<Record<ProblemCode, readonly [number, string]>> = {
  MACPOOL_BAD_REQUEST: [400, "Bad request"],
  MACPOOL_UNAUTHENTICATED: [401, "Unauthenticated"],
  MACPOOL_FORBIDDEN: [403, "Forbidden"],
  MACPOOL_BAD_PATH: [400, "Bad path"],
  MACPOOL_NOT_FOUND: [404, "Not found"],
  MACPOOL_UNKNOWN_PATH: [404, "Unknown path"],
  MACPOOL_METHOD_NOT_ALLOWED: [405, "Method not allowed"],
  MACPOOL_EXPIRED: [410, "Expired"],
  MACPOOL_BODY_TOO_LONG: [413, "Body too long"],
  MACPOOL_TOO_MANY_QUESTIONS: [429, "Too many questions"],
  MACPOOL_TOO_MANY_VIEWERS: [429, "Too many watches"],
  MACPOOL_BUSY: [503, "Busy"],
  MACPOOL_NOT_READY: [503, "Not ready"],
  MACPOOL_UNAVAILABLE: [503, "Unavailable"],
  MACPOOL_INTERNAL: [500, "Internal error"],
};

/** Of requests that are no question of any operation. */
const BESIDE: readonly string[] = ["MACPOOL_METHOD_NOT_ALLOWED", "MACPOOL_BODY_TOO_LONG"];

/** Statuses that a question can be refused with. */
export const PROBLEM_STATUSES = [
  ...new Set(Object.entries(STATUS).flatMap(([code, [status]]) => (BESIDE.includes(code) ? [] : [status]))),
].sort();

export interface ProblemDetails {
  readonly parameter?: string;
  readonly didYouMean?: string | undefined;
}

export class Problem extends Error {
  readonly view: ProblemView;

  constructor(code: ProblemCode, detail: string, { parameter, didYouMean }: ProblemDetails = {}) {
    super(detail);
    const [status, title] = STATUS[code];
    this.view = {
      type: `urn:macpool:${code}`,
      code,
      title,
      status,
      detail,
      ...(parameter === undefined ? {} : { parameter }),
      ...(didYouMean === undefined ? {} : { didYouMean }),
    };
  }
}

export function badRequest(parameter: string, detail: string): Problem {
  return new Problem("MACPOOL_BAD_REQUEST", detail, { parameter });
}

export function notFound(what: string, didYouMean?: string): Problem {
  const hint = didYouMean === undefined ? "" : ` Did you mean ${didYouMean}?`;
  return new Problem("MACPOOL_NOT_FOUND", `There is no ${what}.${hint}`, { didYouMean });
}
