import { LRUCache } from "lru-cache";
import { type RateLimit, TokenBucket } from "../../../kube/queue/token-bucket.ts";
import { shortText } from "../../../kube/short-text.ts";

const MAX_KEYS = 1_000;
/** Who has the same beginning of a name that is longer shares the bucket. */
const MAX_KEY_CHARS = 253;

/** The same limit for each of many, such as users or client addresses. Those that asked least lately are forgotten. */
export class TokenBuckets {
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
