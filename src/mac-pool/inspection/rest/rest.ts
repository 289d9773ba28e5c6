/**
 * The read-only REST interface under /api/v1. Every replica serves it from its own caches, on a port of its own.
 * Refusals are RFC 9457 problems with a stable code.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { MAC_POOL_TOKEN_HEADER } from "../../../api/names.ts";
import type { User } from "../../../kube/access/user.ts";
import type { Clock } from "../../../kube/clock.ts";
import { setHandlerDeadline } from "../../../kube/http/handler-deadline.ts";
import { HttpError } from "../../../kube/http/http-error.ts";
import { YieldPerRequest } from "../../../kube/http/yield-per-request.ts";
import type { Log } from "../../../kube/log.ts";
import type { Inspector } from "../queries/inspector.ts";
import { Problem } from "../queries/problem.ts";
import { Watches } from "../watch/watches.ts";
import { AnswerPlaces } from "./answer-places.ts";
import { jsonOf } from "./json-of.ts";
import { openApiDocument } from "./openapi.ts";
import { OPERATIONS, type Operation, type Question } from "./operations.ts";
import { answerProblem } from "./problem-answer.ts";
import { readParameters } from "./read-parameters.ts";
import type { ReaderAccess } from "./reader-access.ts";
import { SharedAnswers, WrittenAnswer } from "./written-answer.ts";

const TIMEOUT_MS = 30_000;

export interface InspectionOptions {
  readonly inspector: Inspector;
  readonly access: ReaderAccess;
  /** True while questions can be answered; what is missing otherwise. */
  readonly readiness: () => true | string;
  /** Takes an answer that goes on without an end out of the requests under way. */
  readonly hold: (reply: FastifyReply) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export function routeInspection(app: FastifyInstance, options: InspectionOptions): void {
  const { inspector, access, clock, hold, log } = options;
  const watches = new Watches({ clock, hold, bookmark: () => inspector.feeds.bookmark() });
  const places = new AnswerPlaces();
  const shared = new SharedAnswers(clock);
  // Admission is answered by the same thread, and whoever asks here may send many questions at one moment.
  const yielding = new YieldPerRequest();
  app.addHook("onRequest", () => yielding.next());
  const errorHandler = (thrown: Error, request: FastifyRequest, reply: FastifyReply): void => {
    answerProblem(reply, problemOf(thrown, request, log));
  };
  for (const operation of OPERATIONS) {
    app.get(operation.path, { errorHandler }, async (request, reply) => {
      const user = await access.userOf(request);
      await access.admit(user);
      const question = await questionOf(operation, request, user, { ...options, viewers: watches.size });
      if (operation.watch !== undefined && isWatched(question.query)) {
        const { since } = question.query as { readonly since?: string };
        const lastId = textOf(request.headers["last-event-id"]) ?? since;
        // What it tells was made for the scope of its beginning.
        const isAllowed = async (): Promise<boolean> => {
          const again = await access.userOf(request);
          const { scope } = await questionOf(operation, request, again, { ...options, viewers: watches.size });
          return scope.namespace === question.scope.namespace;
        };
        watches.open(
          reply,
          question.user,
          isAllowed,
          (sink) => operation.watch?.(question, lastId, sink) ?? (() => {}),
        );
        return reply;
      }
      places.take(reply.raw, user.username);
      setHandlerDeadline(
        reply,
        TIMEOUT_MS,
        () => new HttpError(503, `no answer within ${TIMEOUT_MS / 1000} s: try again`),
      );
      return tell(operation, question, request, reply, shared);
    });
  }
  const document = JSON.stringify(openApiDocument());
  app.get("/openapi.json", { errorHandler }, (_request, reply) =>
    reply.type("application/json").header("cache-control", "no-cache").send(Buffer.from(document)),
  );
}

async function tell(
  operation: Operation,
  question: Question<unknown, unknown>,
  request: FastifyRequest,
  reply: FastifyReply,
  shared: SharedAnswers,
): Promise<unknown> {
  const { params, query, scope, inspector } = question;
  const { id, isTagged, sharedForMs } = operation;
  const key = sharedForMs === undefined ? undefined : JSON.stringify([id, params, query, scope]);
  const told = key === undefined ? undefined : shared.find(key);
  const tag = told?.tag ?? inspector.tagFor(scope);
  // Before the tag is compared: a token that has expired since is a refusal, whatever the reader has kept.
  const answer = told ?? (await operation.tell(question));
  reply.header("cache-control", "private, no-cache").header("vary", `authorization, ${MAC_POOL_TOKEN_HEADER}`);
  if (isTagged) {
    reply.header("etag", tag);
    if (isKnown(request.headers["if-none-match"], tag)) return reply.code(304).send();
  }
  const written = answer instanceof WrittenAnswer ? answer : new WrittenAnswer(tag, jsonOf(answer));
  const isShared = told !== undefined || (key !== undefined && shared.add(key, written, sharedForMs));
  const bytes = await written.readBy(reply.raw);
  if (!isShared) written.end();
  return reply.type("application/json").send(bytes);
}

/** To be asked when it is known who asks: a stranger learns nothing about how to ask. */
async function questionOf(
  { params, query, wanted, namespacesOf }: Operation,
  request: FastifyRequest,
  user: User,
  {
    inspector,
    access,
    readiness,
    viewers,
  }: Pick<InspectionOptions, "inspector" | "access" | "readiness"> & {
    readonly viewers: number;
  },
): Promise<Question<unknown, unknown>> {
  const ready = readiness();
  if (ready !== true) throw new Problem("MACPOOL_NOT_READY", `This replica can't answer yet (${ready}): try again.`);
  const [path, asks] = [readParameters(params, request.params), readParameters(query, request.query)];
  const asked = { params: path, query: asks, inspector };
  const scope = await access.scope(user, wanted, namespacesOf?.(asked) ?? []);
  return { ...asked, user, scope, access, viewers };
}

const isWatched = (query: unknown): boolean => (query as { readonly watch?: boolean }).watch === true;

/** Proxies that change the bytes of an answer, to compress it, weaken its tag. */
function isKnown(known: string | undefined, tag: string): boolean {
  return known?.split(",").some((one) => one.trim().replace(/^W\//, "") === tag) ?? false;
}

const textOf = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

function problemOf(thrown: Error, request: FastifyRequest, log: Log): Problem {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof HttpError && thrown.statusCode === 503) {
    return new Problem("MACPOOL_BUSY", `The question was refused: ${thrown.message}.`);
  }
  log.error({ err: thrown, path: request.url }, "a question could not be answered");
  return new Problem("MACPOOL_INTERNAL", "The question could not be answered: the log of this replica says why.");
}
