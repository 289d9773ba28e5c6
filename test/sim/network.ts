import type { Random } from "../support/random.ts";

/** How requests and events travel at the moment. Probabilities are per request or per event. */
export interface Weather {
  /** A request never arrives. */
  readonly lost: number;
  /** It is carried out, and the answer is lost. */
  readonly unanswered: number;
  /** The server refuses it with 429, 500 or 503. */
  readonly refused: number;
  /** A delay of seconds instead of milliseconds. */
  readonly slow: number;
  /** A delay of up to half a minute, longer than callers wait. */
  readonly crawling: number;
  /** A watch ends in the middle. */
  readonly cut: number;
}

export const CALM: Weather = { lost: 0, unanswered: 0, refused: 0, slow: 0, crawling: 0, cut: 0 };

/** The network between the replicas and the API server. */
export class Network {
  weather: Weather = CALM;
  /** The API server does not answer while it restarts. */
  apiIsUp = true;
  /** Hosts without a connection to the API server. */
  readonly partitioned = new Set<string>();
  readonly random: Random;

  constructor(random: Random) {
    this.random = random;
  }

  reaches(host: string): boolean {
    return this.apiIsUp && !this.partitioned.has(host);
  }

  delayMs(): number {
    const { random, weather } = this;
    const kind = random.next();
    if (kind < weather.crawling) return random.between(2_000, 30_000);
    if (kind < weather.crawling + weather.slow) return random.between(20, 4_000);
    return random.between(0.5, 8);
  }
}
