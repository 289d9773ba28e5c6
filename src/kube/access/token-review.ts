import type { KubeClient } from "../client/client.ts";
import { RESOURCES } from "../client/resource.ts";
import { at } from "../json-path.ts";
import { ReviewCache } from "./review-cache.ts";
import { type User, userOf } from "./user.ts";

const KEPT_MS = 60_000;
/** Longer than any token of the API server; a bigger one is not worth a request. */
const MAX_TOKEN_CHARS = 16_384;

export interface TokenReviewsOptions {
  readonly client: KubeClient;
  readonly maxInFlight: number;
  /** For one answer of the API server. */
  readonly timeoutMs: number;
  /** As in `ReviewCacheOptions`. */
  readonly maxKept?: number;
}

/** Whose a bearer token is, as the API server says (TokenReview). */
export class TokenReviews {
  readonly #options: TokenReviewsOptions;
  readonly #reviews: ReviewCache<{ readonly user: User | undefined }>;

  constructor(options: TokenReviewsOptions) {
    this.#options = options;
    this.#reviews = new ReviewCache({
      maxInFlight: options.maxInFlight,
      keptMs: KEPT_MS,
      maxKept: options.maxKept,
      isCheap: ({ user }) => user === undefined,
    });
  }

  /**
   * The user of an Authorization header; undefined when there is none or the API server does not know the token. `mayAsk`: whether
   * the API server may be asked about a token that is not known here. Throws TooManyReviews, or what the API server's refusal
   * or a broken connection throws.
   */
  async userOf(authorization: string | undefined, mayAsk?: () => boolean): Promise<User | undefined> {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || token.length > MAX_TOKEN_CHARS) return undefined;
    const { client, timeoutMs } = this.#options;
    const ask = async (): Promise<{ readonly user: User | undefined }> => {
      const review = await client.create(
        RESOURCES.tokenReviews,
        { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", metadata: {}, spec: { token } },
        { timeoutMs },
      );
      const known = at(review, "status", "authenticated") === true;
      return { user: known ? userOf(at(review, "status", "user")) : undefined };
    };
    const { user } = await this.#reviews.answer(token, ask, mayAsk);
    return user;
  }
}
