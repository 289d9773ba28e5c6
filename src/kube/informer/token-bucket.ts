/** `burst` at once, then `perSecond`. */
export interface RateLimit {
  readonly perSecond: number;
  readonly burst: number;
}

/** Limits a rate. Time is an argument. */
export class TokenBucket {
  readonly #limit: RateLimit;
  #tokens: number;
  #atMs: number | undefined;

  constructor(limit: RateLimit) {
    this.#limit = limit;
    this.#tokens = limit.burst;
  }

  /** Takes a token and returns how long to wait for it. */
  takeMs(nowMs: number): number {
    const { perSecond, burst } = this.#limit;
    const gained = ((nowMs - (this.#atMs ?? nowMs)) / 1000) * perSecond;
    this.#atMs = nowMs;
    this.#tokens = Math.min(burst, this.#tokens + gained) - 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / perSecond) * 1000;
  }

  /** Takes a token if there is one. */
  tryTake(nowMs: number): boolean {
    if (this.takeMs(nowMs) === 0) return true;
    this.#tokens += 1;
    return false;
  }
}
