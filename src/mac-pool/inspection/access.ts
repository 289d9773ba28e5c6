import { LRUCache } from "lru-cache";
import { MAC_POOL_GROUP } from "../../api/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, RESOURCES } from "../../kube/client/resource.ts";
import { at, listAt, textAt } from "../objects/json-path.ts";

/**
 * Who may read what: a bearer token is shown to the API server (TokenReview), and what its user may do is asked there as
 * well (SubjectAccessReview). Both answers are kept briefly. Nothing is readable without a token.
 */

export interface User {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, string[]>>;
}

export interface Permission {
  readonly verb: "get" | "list";
  readonly resource: "macclaims" | "macpools";
  /** Limits the question to what a Role in this namespace grants as well. */
  readonly namespace?: string | undefined;
}

const MAX_CACHED = 1_000;
const TOKEN_TTL_MS = 60_000;
const ACCESS_TTL_MS = 10_000;
/** Longer than any token of the API server; a bigger one is not worth a request. */
const MAX_TOKEN_CHARS = 16_384;

export class Access {
  readonly #client: KubeClient;
  readonly #users = new LRUCache<string, { readonly user: User | undefined }>({ max: MAX_CACHED, ttl: TOKEN_TTL_MS });
  readonly #allowed = new LRUCache<string, { readonly allowed: boolean }>({ max: MAX_CACHED, ttl: ACCESS_TTL_MS });

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** The user of an Authorization header; undefined when there is none or the API server does not know the token. */
  async authenticate(authorization: string | undefined, signal: AbortSignal): Promise<User | undefined> {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (token === undefined || token.length > MAX_TOKEN_CHARS) return undefined;
    const known = this.#users.get(token);
    if (known !== undefined) return known.user;
    const review = await this.#client.create(
      RESOURCES.tokenReviews,
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", metadata: {}, spec: { token } },
      { signal },
    );
    const user = at(review, "status", "authenticated") === true ? userOf(review) : undefined;
    this.#users.set(token, { user });
    return user;
  }

  async isAllowed(user: User, permission: Permission, signal: AbortSignal): Promise<boolean> {
    const key = JSON.stringify([user.username, user.uid, user.groups, user.extra, permission]);
    const known = this.#allowed.get(key);
    if (known !== undefined) return known.allowed;
    const { verb, resource, namespace } = permission;
    const attributes = { verb, resource, group: MAC_POOL_GROUP, ...(namespace === undefined ? {} : { namespace }) };
    const review = await this.#client.create(
      RESOURCES.subjectAccessReviews,
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        metadata: {},
        spec: {
          user: user.username,
          uid: user.uid,
          groups: [...user.groups],
          extra: { ...user.extra },
          resourceAttributes: attributes,
        },
      },
      { signal },
    );
    const allowed = at(review, "status", "allowed") === true;
    this.#allowed.set(key, { allowed });
    return allowed;
  }
}

function userOf(review: KubeObject): User {
  const user = at(review, "status", "user");
  return {
    username: textAt(user, "username"),
    uid: textAt(user, "uid"),
    groups: listAt(user, "groups").filter((group): group is string => typeof group === "string"),
    extra: extraOf(user),
  };
}

function extraOf(user: unknown): Record<string, string[]> {
  const extra = at(user, "extra");
  if (typeof extra !== "object" || extra === null) return {};
  const keys = Object.keys(extra);
  return Object.fromEntries(keys.map((key) => [key, listAt(extra, key).map(String)]));
}
