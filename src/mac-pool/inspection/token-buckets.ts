import { LRUCache } from "lru-cache";
import { type RateLimit, TokenBucket } from "../../kube/queue/token-bucket.ts";

const MAX_KEYS = 1_000;

/** The same limit for each of many, such as users or client addresses. Those that asked least lately are forgotten. */
export class TokenBuckets {
  readonly #limit: RateLimit;
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: MAX_KEYS });

  constructor(limit: RateLimit) {
    this.#limit = limit;
  }

  of(key: string): TokenBucket {
    const bucket = this.#buckets.get(key) ?? new TokenBucket(this.#limit);
    this.#buckets.set(key, bucket);
    return bucket;
  }
}
