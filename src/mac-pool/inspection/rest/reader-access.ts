import type { TLSSocket } from "node:tls";
import type { FastifyRequest } from "fastify";
import { MAC_POOL_GROUP, MAC_POOL_TOKEN_HEADER } from "../../../api/names.ts";
import { userOfCertificate } from "../../../kube/access/certificate-user.ts";
import { TooManyReviews } from "../../../kube/access/review-cache.ts";
import type { SubjectAccess } from "../../../kube/access/subject-access.ts";
import type { TokenReviews } from "../../../kube/access/token-review.ts";
import type { User } from "../../../kube/access/user.ts";
import type { Clock } from "../../../kube/clock.ts";
import { TokenBucket } from "../../../kube/queue/token-bucket.ts";
import { Problem } from "../queries/problem.ts";
import { EVERYTHING, type Scope } from "../queries/scope.ts";
import { SlowRefusals } from "./slow-refusals.ts";
import { TokenBuckets } from "./token-buckets.ts";

/** Unknown tokens that the API server is asked about: of one client address, and of all. */
const OF_ADDRESS = { perSecond: 5, burst: 20 };
const OF_ALL = { perSecond: 20, burst: 40 };
/** Rights of a user that are not known: each namespace that he names is one. */
const OF_USER = { perSecond: 10, burst: 40 };
/** A page in ten tabs asks about 20 questions a second, and `kubectl macpool` reads 100,000 claims by 50. */
const QUESTIONS_OF_USER = { perSecond: 30, burst: 300 };

export interface ReaderAccessOptions {
  readonly tokens: Pick<TokenReviews, "userOf">;
  readonly access: Pick<SubjectAccess, "isAllowed">;
  /** The user that other replicas are too; undefined where that can't be told. */
  readonly self: () => Promise<User | undefined>;
  readonly clock: Clock;
}

export interface Wanted {
  readonly verb: "get" | "list";
  readonly resource: "macpools" | "macclaims";
}

/** Who asks, and what of the answer he may see. Nobody reads without a name. */
export class ReaderAccess {
  readonly #options: ReaderAccessOptions;
  readonly #refusals: SlowRefusals;
  readonly #unknown = new TokenBucket(OF_ALL);
  readonly #unknownOf = new TokenBuckets(OF_ADDRESS);
  readonly #questionsOf = new TokenBuckets(QUESTIONS_OF_USER);
  readonly #rightsOf = new TokenBuckets(OF_USER);

  constructor(options: ReaderAccessOptions) {
    this.#options = options;
    this.#refusals = new SlowRefusals(options.clock);
  }

  /** By the token if there is one, else by the client certificate. Throws a Problem, later if it threw many for this address. */
  async userOf(request: Pick<FastifyRequest, "headers" | "ip" | "raw">): Promise<User> {
    try {
      return await this.#userOf(request);
    } catch (problem) {
      await this.#refusals.turnOf(request.ip);
      throw problem;
    }
  }

  async #userOf(request: Pick<FastifyRequest, "headers" | "ip" | "raw">): Promise<User> {
    const own = request.headers[MAC_POOL_TOKEN_HEADER];
    const authorization = typeof own === "string" ? own : request.headers.authorization;
    const user =
      authorization === undefined
        ? userOfCertificate(request.raw.socket as TLSSocket)
        : await asked(() => this.#options.tokens.userOf(authorization, () => this.mayAsk(request.ip)));
    if (user === undefined) throw unauthenticated();
    return user;
  }

  /**
   * Throws a Problem when the user asks too often: admission waits while a question is answered. Other replicas ask for all
   * their readers, which are limited there.
   */
  async admit({ username }: User): Promise<void> {
    const { clock, self } = this.#options;
    if (this.#questionsOf.of(username).tryTake(clock.monotonicMs())) return;
    const own = await self().catch(() => undefined);
    if (own?.username === username) return;
    const { perSecond, burst } = QUESTIONS_OF_USER;
    const detail = `You ask too often: ${burst} questions at once, and then ${perSecond} a second, are answered. Try again in a second.`;
    throw new Problem("MACPOOL_TOO_MANY_QUESTIONS", detail);
  }

  async mayDo(user: User, wanted: Wanted, namespace?: string): Promise<boolean> {
    const { access, clock } = this.#options;
    const mayAsk = (): boolean => this.#rightsOf.of(user.username).tryTake(clock.monotonicMs());
    return asked(() => access.isAllowed(user, { group: MAC_POOL_GROUP, ...wanted, namespace }, mayAsk));
  }

  /** Everything, or else the first of the namespaces in which the right is there. */
  async scope(user: User, wanted: Wanted, namespaces: readonly string[]): Promise<Scope> {
    if (await this.mayDo(user, wanted)) return EVERYTHING;
    for (const namespace of namespaces) if (await this.mayDo(user, wanted, namespace)) return { namespace };
    throw forbidden(user, wanted);
  }

  /**
   * Whether the API server is asked about one more unknown token. The bucket of the address comes first: a flood from one
   * address leaves what others share alone.
   */
  mayAsk(address: string): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    return this.#unknownOf.of(address).tryTake(nowMs) && this.#unknown.tryTake(nowMs);
  }
}

async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof TooManyReviews) {
      const detail = "Too many callers with unknown tokens or rights are asking at this moment: try again in a second.";
      throw new Problem("MACPOOL_BUSY", detail);
    }
    const detail = "The API server does not say now who you are and what you may read: try again.";
    throw new Problem("MACPOOL_UNAVAILABLE", detail);
  }
}

function unauthenticated(): Problem {
  const detail =
    "Send a bearer token that the API server knows, as Authorization: Bearer <token>, or connect with a client certificate of the cluster.";
  return new Problem("MACPOOL_UNAUTHENTICATED", detail);
}

/** Names no namespace: the reader may not know which one has what he asked for. */
function forbidden({ username }: User, { verb, resource }: Wanted): Problem {
  const [where, hint] =
    resource === "macclaims"
      ? [
          "in the whole cluster, or in the namespace that was asked for",
          " For what is in your namespace, name it: ?namespace=NAME.",
        ]
      : ["in the cluster", ""];
  const detail = `User ${JSON.stringify(username)} may not ${verb} ${resource}.${MAC_POOL_GROUP} ${where}. Ask for a role that allows it.${hint}`;
  return new Problem("MACPOOL_FORBIDDEN", detail);
}
