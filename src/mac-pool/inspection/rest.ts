/**
 * The read-only REST interface under /api/v1, served by every replica from its own caches. Errors are RFC 9457 problems
 * with a stable code. Routes are registered on the HTTPS server that also serves the webhooks.
 */

import { z } from "zod";
import { claimName, parseMac } from "../../api/mac.ts";
import { CLAIM_PHASES } from "../../api/mac-claim.ts";
import type { HttpAnswer, HttpHandler, HttpRequest } from "../../kube/http/http-handler.ts";
import { jsonAnswer } from "../../kube/http/http-handler.ts";
import type { HttpServer } from "../../kube/http/server.ts";
import type { Access, Permission, User } from "./access.ts";
import type { Queries } from "./queries.ts";

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

export function routeInspection(server: HttpServer, queries: Queries, access: Access): void {
  const guarded =
    (
      answer: (request: HttpRequest, user: User, signal: AbortSignal) => Promise<HttpAnswer> | HttpAnswer,
    ): HttpHandler =>
    async (request, signal) => {
      const user = await access.authenticate(request.headers.authorization, signal);
      return user === undefined ? UNAUTHENTICATED : answer(request, user, signal);
    };
  const mayAny = async (user: User, wanted: readonly Permission[], signal: AbortSignal): Promise<boolean> => {
    for (const permission of wanted) if (await access.isAllowed(user, permission, signal)) return true;
    return false;
  };

  server.route(
    "GET",
    "/api/v1/pools",
    guarded(async (_request, user, signal) => {
      const allowed = await access.isAllowed(user, { verb: "list", resource: "macpools" }, signal);
      return allowed ? jsonAnswer(200, queries.pools()) : forbidden(user, "list macpools");
    }),
  );
  server.route(
    "GET",
    "/api/v1/pools/*",
    guarded(async (request, user, signal) => {
      const allowed = await access.isAllowed(user, { verb: "get", resource: "macpools" }, signal);
      if (!allowed) return forbidden(user, "get macpools");
      const name = lastSegment(request.path, "/api/v1/pools/");
      const pool = queries.pool(name);
      return pool === undefined ? notFound(`MACPool ${JSON.stringify(name)}`) : jsonAnswer(200, pool);
    }),
  );
  server.route(
    "GET",
    "/api/v1/claims",
    guarded(async (request, user, signal) => {
      const query = claimsQuery.safeParse(Object.fromEntries(request.query));
      if (!query.success) return badRequest(z.prettifyError(query.error).replaceAll("\n", " "));
      const { limit, continue: after, ...filter } = query.data;
      const list: Permission = { verb: "list", resource: "macclaims" };
      const inNamespace = filter.namespace === undefined ? [] : [{ ...list, namespace: filter.namespace }];
      if (!(await mayAny(user, [list, ...inNamespace], signal))) return forbidden(user, "list macclaims");
      return jsonAnswer(200, queries.claims(filter, { limit, after }));
    }),
  );
  server.route(
    "GET",
    "/api/v1/claims/*",
    guarded(async (request, user, signal) => {
      const written = lastSegment(request.path, "/api/v1/claims/");
      const mac = parseMac(written);
      if (mac === undefined) return badRequest(`${JSON.stringify(written)} is not a MAC address: write six octets`);
      const claim = queries.claim(claimName(mac));
      const get: Permission = { verb: "get", resource: "macclaims" };
      const namespaces = new Set(claim?.owners.map((owner) => owner.namespace));
      const wanted = [get, ...[...namespaces].map((namespace) => ({ ...get, namespace }))];
      if (!(await mayAny(user, wanted, signal))) return forbidden(user, "get macclaims");
      return claim === undefined ? notFound(`a claim of ${written}`) : jsonAnswer(200, claim);
    }),
  );
}

function lastSegment(path: string, prefix: string): string {
  return path.slice(prefix.length);
}

function problem(
  status: number,
  code: string,
  title: string,
  detail: string,
  headers: Record<string, string> = {},
): HttpAnswer {
  return {
    status,
    headers: { "content-type": "application/problem+json", ...headers },
    body: JSON.stringify({ type: `urn:macpool:${code}`, code, title, status, detail }),
  };
}

const UNAUTHENTICATED = problem(
  401,
  "MACPOOL_UNAUTHENTICATED",
  "Unauthenticated",
  "send a bearer token that the API server knows: Authorization: Bearer <token>",
  { "www-authenticate": "Bearer" },
);

function forbidden(user: User, what: string): HttpAnswer {
  const detail = `user ${JSON.stringify(user.username)} may not ${what} in group macpool.network.kubevirt.io: ask for a role that allows it`;
  return problem(403, "MACPOOL_FORBIDDEN", "Forbidden", detail);
}

function notFound(what: string): HttpAnswer {
  return problem(404, "MACPOOL_NOT_FOUND", "Not found", `there is no ${what}`);
}

function badRequest(detail: string): HttpAnswer {
  return problem(400, "MACPOOL_BAD_REQUEST", "Bad request", detail);
}
