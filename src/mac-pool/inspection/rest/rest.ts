/**
 * The read-only REST interface under /api/v1. Every replica serves it from its own caches, on a port of its own.
 * Refusals are RFC 9457 problems with a stable code.
 */

import type { EventEmitter } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { MAC_POOL_TOKEN_HEADER } from "../../../api/names.ts";
import type { User } from "../../../kube/access/user.ts";
import type { Clock } from "../../../kube/clock.ts";
import type { Log } from "../../../kube/log.ts";
import { setHandlerDeadline } from "../../../kube/server/handler-deadline.ts";
import { HttpError } from "../../../kube/server/http-error.ts";
import type { Inspector } from "../queries/inspector.ts";
import { Watches } from "../watch/watches.ts";
import { jsonOf, WrittenAnswer } from "./answer-body.ts";
import { openApiDocument } from "./openapi.ts";
import { OPERATIONS, type Operation, type Question } from "./operations.ts";
import { readParameters } from "./parameters.ts";
import { answerProblem, Problem } from "./problem.ts";
import type { ReaderAccess } from "./reader-access.ts";
import { TtlCache } from "./ttl-cache.ts";

const TIMEOUT_MS = 30_000;
/** Shared answers: the longest of all, which a page asks for every four seconds. */
const SHARED_MS = 1_000;
/** Of 1.5 MB at most. */
const MAX_SHARED = 16;

/** Fifty pages may ask at one moment. The longest answer has 1.5 MB, which a client that reads slowly keeps in memory. */
const MAX_ANSWERS = 64;
const MAX_OF_USER = 32;

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
  const shared = new TtlCache<WrittenAnswer>(clock, {
    ttlMs: SHARED_MS,
    max: MAX_SHARED,
    onDrop: (written) => written.end(),
  });
  // Admission has the same thread, and a reader may send many questions at once.
  const yielding = new YieldPerRequest();
  app.addHook("onRequest", () => yielding.next());
  const errorHandler = (thrown: Error, request: FastifyRequest, reply: FastifyReply): void => {
    answerProblem(reply, problemOf(thrown, request, log));
  };
  for (const operation of OPERATIONS) {
    const ask = (request: FastifyRequest, user: User) => questionOf(operation, request, user, watches.size, options);
    app.get(operation.path, { errorHandler }, async (request, reply) => {
      const user = await access.userOf(request);
      await access.admit(user);
      const question = await ask(request, user);
      const { watch, since } = question.query as { readonly watch?: boolean; readonly since?: string };
      if (operation.watch !== undefined && watch === true) {
        const stream = operation.watch.bind(operation, question, textOf(request.headers["last-event-id"]) ?? since);
        // A watch sends what the scope at its beginning allows, so it ends when the user has another scope.
        const isAllowed = async (): Promise<boolean> => {
          const { scope } = await ask(request, await access.userOf(request));
          return scope.namespace === question.scope.namespace;
        };
        watches.open(reply, user, isAllowed, stream);
        return reply;
      }
      places.take(reply.raw, user.username);
      const late = `no answer within ${TIMEOUT_MS / 1000} s: try again`;
      setHandlerDeadline(reply, TIMEOUT_MS, () => new HttpError(503, late));
      return answer(operation, question, request, reply, shared);
    });
  }
  // Made for the first who asks: few do.
  let document: Buffer | undefined;
  app.get("/openapi.json", { errorHandler }, (_request, reply) => {
    document ??= Buffer.from(JSON.stringify(openApiDocument()));
    return reply.type("application/json").header("cache-control", "no-cache").send(document);
  });
}

async function answer(
  { id, isTagged, isShared, render }: Operation,
  question: Question<unknown, unknown>,
  request: FastifyRequest,
  reply: FastifyReply,
  shared: TtlCache<WrittenAnswer>,
): Promise<unknown> {
  const { params, query, scope, inspector } = question;
  const key = isShared ? JSON.stringify([id, params, query, scope]) : undefined;
  const known = key === undefined ? undefined : shared.find(key);
  const tag = known?.tag ?? inspector.tagFor(scope);
  // Before the tag is compared: a token that has expired since is a refusal, whatever the reader has kept.
  const view = known ?? (await render(question));
  reply.header("cache-control", "private, no-cache").header("vary", `authorization, ${MAC_POOL_TOKEN_HEADER}`);
  if (isTagged) {
    reply.header("etag", tag);
    if (isKnown(request.headers["if-none-match"], tag)) return reply.code(304).send();
  }
  const written = view instanceof WrittenAnswer ? view : new WrittenAnswer(tag, jsonOf(view));
  if (key !== undefined && shared.find(key) === undefined) shared.add(key, written);
  const bytes = await written.readBy(reply.raw);
  if (key === undefined || shared.find(key) !== written) written.end();
  return reply.type("application/json").send(bytes);
}

interface Named {
  readonly namespace?: string;
}

/** Called with a known user only, because a refusal says how to ask. */
async function questionOf(
  operation: Operation,
  request: FastifyRequest,
  user: User,
  viewers: number,
  { inspector, access, readiness }: InspectionOptions,
): Promise<Question<unknown, unknown>> {
  const ready = readiness();
  if (ready !== true) throw new Problem("MACPOOL_NOT_READY", `This replica can't answer yet (${ready}): try again.`);
  const params = readParameters(operation.params, request.params);
  const query = readParameters(operation.query, request.query);
  const namespaces = operation.namespacesOf?.({ params, query, inspector }) ?? [];
  const { namespace } = { ...(query as Named), ...(params as Named) };
  const scope = await access.scope(user, operation.wanted, namespaces, namespace);
  return { params, query, inspector, user, scope, access, viewers };
}

/** Proxies that change the bytes of an answer, to compress it, weaken its tag. */
function isKnown(known: string | undefined, tag: string): boolean {
  return known?.split(",").some((one) => one.trim().replace(/^W\//, "") === tag) ?? false;
}

const textOf = (header: string | string[] | undefined): string | undefined => [header].flat()[0];

function problemOf(thrown: Error, request: FastifyRequest, log: Log): Problem {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof HttpError && thrown.statusCode === 503) {
    return new Problem("MACPOOL_BUSY", `The question was refused: ${thrown.message}.`);
  }
  log.error({ err: thrown, path: request.url }, "a question could not be answered");
  return new Problem("MACPOOL_INTERNAL", "The question could not be answered: the log of this replica says why.");
}

/** The answers under way. Only known users take places, so strangers can't keep them out. */
export class AnswerPlaces {
  readonly #users = new Map<EventEmitter, string>();

  /** Keeps a place until the response is closed. Throws a Problem when none is free. */
  take(response: EventEmitter, username: string): void {
    const ofUser = [...this.#users.values()].filter((other) => other === username).length;
    if (this.#users.size >= MAX_ANSWERS || ofUser >= MAX_OF_USER) {
      const whose = ofUser >= MAX_OF_USER ? ` ${ofUser} of them are for you.` : "";
      throw new Problem("MACPOOL_BUSY", `Too many answers are under way.${whose} Try again in a second.`);
    }
    this.#users.set(response, username);
    response.once("close", () => this.#users.delete(response));
  }
}

/**
 * Begins one request a turn of the event loop, in the order in which they came. Many may arrive in one turn; what else the
 * process answers is read between them.
 */
export class YieldPerRequest {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the next one may begin. */
  next(): Promise<void> {
    this.#last = this.#last.then(() => nextTurn());
    return this.#last;
  }
}
