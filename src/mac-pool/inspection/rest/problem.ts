/** Refusals of inspection: RFC 9457 problems with stable codes. */

import type { FastifyReply, FastifyRequest } from "fastify";
import type { HttpError } from "../../../kube/server/http-error.ts";
import type { ProblemView } from "./envelopes.ts";

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

interface ProblemDetails {
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

/** Answers with a problem of RFC 9457. */
export function answerProblem(reply: FastifyReply, { view }: Problem): void {
  if (view.status === 401) reply.header("www-authenticate", "Bearer");
  if (view.status === 503 || view.status === 429) reply.header("retry-after", "1");
  // As bytes, because fastify adds a charset to the type of a text.
  reply
    .code(view.status)
    .header("cache-control", "no-store")
    .type("application/problem+json")
    .send(Buffer.from(JSON.stringify(view)));
}

/** What the server refuses before, or instead of, a question. False for what it answers itself. */
export function answerAsProblem({ statusCode, message }: HttpError, request: FastifyRequest, reply: FastifyReply) {
  const problem = problemOf(statusCode, message, request);
  if (problem !== undefined) answerProblem(reply, problem);
  return problem !== undefined;
}

const PATHS = "The paths are in /openapi.json.";

function problemOf(status: number, message: string, { method }: FastifyRequest): Problem | undefined {
  switch (status) {
    case 400:
      return new Problem("MACPOOL_BAD_PATH", `The path can't be read: write each % of it as %25. ${PATHS}`);
    case 404:
      return new Problem("MACPOOL_UNKNOWN_PATH", `There is nothing at this path. ${PATHS}`);
    case 405:
      return new Problem("MACPOOL_METHOD_NOT_ALLOWED", `${method} is not possible: everything here is read by GET.`);
    case 413:
      return new Problem("MACPOOL_BODY_TOO_LONG", "The body is too long: a question has none.");
    case 503:
      return new Problem("MACPOOL_BUSY", `The question was refused: ${message}.`);
    case 500:
      return new Problem("MACPOOL_INTERNAL", "The request could not be answered: the log of this replica says why.");
    default:
      return undefined;
  }
}
