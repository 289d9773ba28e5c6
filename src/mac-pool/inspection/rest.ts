/**
 * The read-only REST interface under /api/v1. Every replica serves it from its own caches, on a port of its own.
 * Refusals are RFC 9457 problems with a stable code.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { claimName, parseMac } from "../../api/mac.ts";
import { CLAIM_PHASES } from "../../api/mac-claim.ts";
import { MAC_POOL_GROUP } from "../../api/names.ts";
import { TooManyQuestions } from "../../kube/access/questions.ts";
import type { Permission, SubjectAccess } from "../../kube/access/subject-access.ts";
import type { TokenReviews } from "../../kube/access/token-review.ts";
import type { User } from "../../kube/access/user.ts";
import { answerWithin } from "../../kube/http/answer-within.ts";
import { HttpError } from "../../kube/http/http-error.ts";
import type { Queries } from "./queries.ts";

const TIMEOUT_MS = 30_000;
const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 5_000;
const MAX_TEXT = 512;

const text = z.string().min(1).max(MAX_TEXT).optional();

const claimsQuery = z.strictObject({
  mac: text,
  owner: text,
  namespace: text,
  phase: z.enum(CLAIM_PHASES).optional(),
  pool: text,
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  continue: text,
});

/** What a GET with a user's token is answered, as JSON. Throws a `Problem` to refuse. */
type Answer = (request: FastifyRequest, user: User) => Promise<object>;

export interface InspectionOptions {
  readonly queries: Queries;
  readonly tokens: Pick<TokenReviews, "userOf">;
  readonly access: Pick<SubjectAccess, "isAllowed">;
}

export function routeInspection(app: FastifyInstance, { queries, tokens, access }: InspectionOptions): void {
  const get = (path: string, answer: Answer): void => {
    app.get(`/api/v1/${path}`, { errorHandler: answerProblem }, async (request, reply) => {
      answerWithin(reply, TIMEOUT_MS, () => new HttpError(503, `not answered within ${TIMEOUT_MS} ms`));
      const user = await tokens.userOf(request.headers.authorization);
      if (user === undefined) throw unauthenticated();
      return answer(request, user);
    });
  };
  /** One of the permissions is enough. */
  const mustBeAllowed = async (user: User, wanted: readonly Wanted[]): Promise<void> => {
    for (const one of wanted) if (await access.isAllowed(user, { group: MAC_POOL_GROUP, ...one })) return;
    throw forbidden(user, `${wanted[0]?.verb} ${wanted[0]?.resource}`);
  };

  get("pools", async (_request, user) => {
    await mustBeAllowed(user, [{ verb: "list", resource: "macpools" }]);
    return queries.pools();
  });
  get("pools/:name", async ({ params }, user) => {
    await mustBeAllowed(user, [{ verb: "get", resource: "macpools" }]);
    const { name } = params as { name: string };
    const pool = queries.pool(name);
    if (pool === undefined) throw notFound(`MACPool ${JSON.stringify(name)}`);
    return pool;
  });
  get("claims", async (request, user) => {
    const query = claimsQuery.safeParse(request.query);
    if (!query.success) throw badRequest(z.prettifyError(query.error).replaceAll("\n", " "));
    const { limit, continue: after, ...filter } = query.data;
    const list: Wanted = { verb: "list", resource: "macclaims" };
    const inNamespace = filter.namespace === undefined ? [] : [{ ...list, namespace: filter.namespace }];
    await mustBeAllowed(user, [list, ...inNamespace]);
    return queries.claims(filter, { limit, after });
  });
  get("claims/:mac", async ({ params }, user) => {
    const { mac: written } = params as { mac: string };
    const mac = parseMac(written);
    if (mac === undefined) throw badRequest(`${JSON.stringify(written)} is not a MAC address: write six octets`);
    const claim = queries.claim(claimName(mac));
    const get: Wanted = { verb: "get", resource: "macclaims" };
    const namespaces = new Set(claim?.owners.map((owner) => owner.namespace));
    await mustBeAllowed(user, [get, ...[...namespaces].map((namespace) => ({ ...get, namespace }))]);
    if (claim === undefined) throw notFound(`a claim of ${written}`);
    return claim;
  });
}

type Wanted = Omit<Permission, "group">;

class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly title: string;

  constructor(status: number, code: string, title: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
    this.title = title;
  }
}

function answerProblem(thrown: Error, _request: FastifyRequest, reply: FastifyReply): void {
  const error = thrown instanceof TooManyQuestions ? busy() : thrown;
  if (!(error instanceof Problem)) throw error;
  const { status, code, title, message: detail } = error;
  if (status === 401) reply.header("www-authenticate", "Bearer");
  const problem = { type: `urn:macpool:${code}`, code, title, status, detail };
  // As bytes, because fastify adds a charset to the type of a text.
  reply
    .code(status)
    .type("application/problem+json")
    .send(Buffer.from(JSON.stringify(problem)));
}

function unauthenticated(): Problem {
  const detail = "send a bearer token that the API server knows: Authorization: Bearer <token>";
  return new Problem(401, "MACPOOL_UNAUTHENTICATED", "Unauthenticated", detail);
}

function busy(): Problem {
  const detail = "too many callers with unknown tokens or rights are asking at this moment: try again";
  return new Problem(503, "MACPOOL_BUSY", "Busy", detail);
}

function forbidden(user: User, what: string): Problem {
  const detail = `user ${JSON.stringify(user.username)} may not ${what} in group macpool.network.kubevirt.io: ask for a role that allows it`;
  return new Problem(403, "MACPOOL_FORBIDDEN", "Forbidden", detail);
}

function notFound(what: string): Problem {
  return new Problem(404, "MACPOOL_NOT_FOUND", "Not found", `there is no ${what}`);
}

function badRequest(detail: string): Problem {
  return new Problem(400, "MACPOOL_BAD_REQUEST", "Bad request", detail);
}
