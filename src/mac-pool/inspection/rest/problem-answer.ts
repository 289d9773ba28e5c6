import type { FastifyReply, FastifyRequest } from "fastify";
import type { HttpError } from "../../../kube/http/http-error.ts";
import { Problem } from "../queries/problem.ts";

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
