import type { KubeClient } from "../client/client.ts";
import { RESOURCES } from "../client/resource.ts";
import { at } from "../json-path.ts";
import { ReviewCache } from "./review-cache.ts";
import type { User } from "./user.ts";

export interface Permission {
  readonly verb: "get" | "list" | "patch" | "update";
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  /** Limits the question to what a Role in this namespace grants as well. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

/** The right to a path that is no resource, as RBAC grants it under `nonResourceURLs`. */
export interface PathPermission {
  readonly verb: "get";
  readonly path: string;
}

const KEPT_MS = 10_000;

export interface SubjectAccessOptions {
  readonly client: KubeClient;
  readonly maxInFlight: number;
  /** For one answer of the API server. */
  readonly timeoutMs: number;
  /** As in `ReviewCacheOptions`. */
  readonly maxKept?: number;
}

/** What a user may do, as the API server says (SubjectAccessReview). */
export class SubjectAccess {
  readonly #options: SubjectAccessOptions;
  readonly #reviews: ReviewCache<{ readonly allowed: boolean }>;

  constructor(options: SubjectAccessOptions) {
    this.#options = options;
    this.#reviews = new ReviewCache({
      maxInFlight: options.maxInFlight,
      keptMs: KEPT_MS,
      maxKept: options.maxKept,
      isCheap: ({ allowed }) => !allowed,
    });
  }

  /**
   * `mayAsk`: whether the API server may be asked what is not known here. Throws TooManyReviews, or what the API server's
   * refusal or a broken connection throws.
   */
  async isAllowed(
    { username, uid, groups, extra }: User,
    permission: Permission | PathPermission,
    mayAsk?: () => boolean,
  ): Promise<boolean> {
    const { client, timeoutMs } = this.#options;
    const spec = { user: username, uid, groups: [...groups], extra: { ...extra }, ...attributesOf(permission) };
    const ask = async (): Promise<{ readonly allowed: boolean }> => {
      const review = await client.create(
        RESOURCES.subjectAccessReviews,
        { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", metadata: {}, spec },
        { timeoutMs },
      );
      return { allowed: at(review, "status", "allowed") === true };
    };
    const { allowed } = await this.#reviews.answer(JSON.stringify(spec), ask, mayAsk);
    return allowed;
  }
}

function attributesOf(permission: Permission | PathPermission) {
  if ("path" in permission) return { nonResourceAttributes: permission };
  const { verb, group, resource, subresource, namespace, name } = permission;
  const where = { ...(subresource && { subresource }), ...(namespace && { namespace }), ...(name && { name }) };
  return { resourceAttributes: { verb, group, resource, ...where } };
}
