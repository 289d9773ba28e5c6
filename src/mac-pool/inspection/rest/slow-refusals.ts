import type { Clock } from "../../../kube/clock.ts";
import { TokenBuckets } from "./token-buckets.ts";

/** Of strangers at one client address. */
const PACE = { perSecond: 50, burst: 100 };
/** One that waits, for five seconds at most, keeps its place among the requests under way. Further ones are sent at once. */
const MAX_WAITING = 256;

/**
 * Whoever is refused again and again waits for it: a stranger who asks in a loop then asks no faster than he is answered, and
 * admission, which has the same thread, goes on.
 */
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
