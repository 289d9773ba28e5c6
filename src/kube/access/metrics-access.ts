import type { KubeClient } from "../client/client.ts";
import { HttpError } from "../server/http-error.ts";
import { TooManyReviews } from "./review-cache.ts";
import { SubjectAccess } from "./subject-access.ts";
import { TokenReviews } from "./token-review.ts";

export const METRICS_PATH = "/metrics";

/** Those who scrape are few, and ask again and again with the same token. */
const ACCESS_REVIEWS = { maxInFlight: 4, timeoutMs: 5_000, maxKept: 100 };

export interface MetricsAccessOptions {
  readonly tokens: Pick<TokenReviews, "userOf">;
  readonly access: Pick<SubjectAccess, "isAllowed">;
}

/** Who may read metrics: those whom RBAC lets `get` the path /metrics, as it does for the processes of Kubernetes. */
export class MetricsAccess {
  readonly #options: MetricsAccessOptions;

  constructor(options: MetricsAccessOptions) {
    this.#options = options;
  }

  static of(client: KubeClient): MetricsAccess {
    const options = { client, ...ACCESS_REVIEWS };
    return new MetricsAccess({ tokens: new TokenReviews(options), access: new SubjectAccess(options) });
  }

  /** Why the sender of this Authorization header may not; undefined when it may. `mayAsk`: as for `TokenReviews`. */
  async refusalOf(authorization: string | undefined, mayAsk?: () => boolean): Promise<HttpError | undefined> {
    const { tokens, access } = this.#options;
    try {
      const user = await tokens.userOf(authorization, mayAsk);
      if (user === undefined) {
        return new HttpError(401, "send a bearer token that the API server knows: Authorization: Bearer <token>");
      }
      if (await access.isAllowed(user, { verb: "get", path: METRICS_PATH })) return undefined;
      return new HttpError(403, `user ${JSON.stringify(user.username)} may not get ${METRICS_PATH}`);
    } catch (error) {
      const why = error instanceof TooManyReviews ? "too many others are asking" : "the API server does not answer";
      return new HttpError(503, `it can't be checked now who may read metrics, because ${why}: try again`);
    }
  }
}
