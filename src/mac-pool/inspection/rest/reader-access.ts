import type { TLSSocket } from "node:tls";
import type { FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { MAC_POOL_GROUP, MAC_POOL_TOKEN_HEADER } from "../../../api/names.ts";
import { TooManyReviews } from "../../../kube/access/review-cache.ts";
import type { SubjectAccess } from "../../../kube/access/subject-access.ts";
import type { TokenReviews } from "../../../kube/access/token-review.ts";
import type { User } from "../../../kube/access/user.ts";
import { userOfCertificate } from "../../../kube/access/user.ts";
import type { Clock } from "../../../kube/clock.ts";
import { type RateLimit, TokenBucket } from "../../../kube/informer/token-bucket.ts";
import { shortText } from "../../../kube/short-text.ts";
import { EVERYTHING, type Scope } from "../queries/scope.ts";
import { Problem } from "./problem.ts";

/** Unknown tokens that the API server is asked about: of one client address, and of all. */
const OF_ADDRESS = { perSecond: 5, burst: 20 };
const OF_ALL = { perSecond: 20, burst: 40 };
/** Rights of a user that are not known: each namespace that they name is one. */
const OF_USER = { perSecond: 10, burst: 40 };
/** A page in ten tabs asks about 20 questions a second, and `kubectl macpool` reads 100,000 claims by 50. */
const QUESTIONS_OF_USER = { perSecond: 30, burst: 300 };

export interface ReaderAccessOptions {
  readonly tokens: Pick<TokenReviews, "userOf">;
  readonly access: Pick<SubjectAccess, "isAllowed">;
  /** The user of all replicas; undefined where that is not known. */
  readonly self: () => Promise<User | undefined>;
  readonly clock: Clock;
}

export interface Wanted {
  readonly verb: "get" | "list";
  readonly resource: "macpools" | "macclaims";
}

/** Who asks, and what of the answer they may see. Nobody reads without a name. */
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
    if (user !== undefined) return user;
    const detail =
      "Send a bearer token that the API server knows, as Authorization: Bearer <token>, or connect with a client certificate of the cluster.";
    throw new Problem("MACPOOL_UNAUTHENTICATED", detail);
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

  /** Everything, or else the first of the namespaces in which the right is there. `named`: the one that the reader wrote. */
  async scope(user: User, wanted: Wanted, namespaces: readonly string[], named?: string): Promise<Scope> {
    if (await this.mayDo(user, wanted)) return EVERYTHING;
    for (const namespace of namespaces) if (await this.mayDo(user, wanted, namespace)) return { namespace };
    throw forbidden(user, wanted, named);
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

/** Names no namespace but that of the question: the reader may not know which one has what they asked for. */
function forbidden({ username }: User, { verb, resource }: Wanted, named: string | undefined): Problem {
  const [where, role, hint] = whereOf(resource, named);
  const detail = `User ${JSON.stringify(username)} may not ${verb} ${resource}.${MAC_POOL_GROUP} ${where}. Ask for a ${role}. ${hint}`;
  return new Problem("MACPOOL_FORBIDDEN", detail);
}

function whereOf(resource: Wanted["resource"], named: string | undefined): readonly [string, string, string] {
  const ofCluster = "ClusterRoleBinding to kubemacpool-view";
  if (resource === "macpools") {
    const hint = "For the claims and the limit of your namespace, read /api/v1/namespaces?namespace=NAME.";
    return ["in the cluster", ofCluster, hint];
  }
  const hint = (whose: string): string => `For what is in ${whose} namespace, name it: ?namespace=NAME.`;
  if (named === undefined) return ["in the whole cluster", ofCluster, hint("your")];
  const role = `RoleBinding to kubemacpool-view in namespace ${named}`;
  return [`in namespace ${named} or in the whole cluster`, role, hint("another")];
}

/** Of strangers at one client address. */
const PACE = { perSecond: 50, burst: 100 };
/** One that waits, for five seconds at most, keeps its place among the requests under way. Further ones are sent at once. */
const MAX_WAITING = 256;

/** Delays the refusals of an address that is refused often, so that a stranger in a loop takes little time from admission. */
export class SlowRefusals {
  readonly #clock: Clock;
  readonly #buckets = new TokenBuckets(PACE);
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the refusal may be sent. */
  async turnOf(address: string): Promise<void> {
    if (this.#waiting >= MAX_WAITING) return;
    const waitMs = this.#buckets.of(address).takeMs(this.#clock.monotonicMs());
    if (waitMs === 0) return;
    this.#waiting += 1;
    await this.#clock.sleep(waitMs);
    this.#waiting -= 1;
  }
}

const MAX_KEYS = 1_000;
/** Names with the same beginning of this length share a bucket. */
const MAX_KEY_CHARS = 253;

/** The same limit for each user or client address. The least recently used buckets are forgotten. */
class TokenBuckets {
  readonly #limit: RateLimit;
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: MAX_KEYS });

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  of(name: string): TokenBucket {
    const key = shortText(name, MAX_KEY_CHARS);
    const bucket = this.#buckets.get(key) ?? new TokenBucket(this.#limit);
    this.#buckets.set(key, bucket);
    return bucket;
  }
}
