/** Requests to the API server at a steady rate while something else happens, and what became of each. */

import { ApiError } from "../../src/kube/client/api-error.ts";

const PER_SECOND = 5;
const MOST = 2_000;
const MOST_IN_FLIGHT = 50;

export interface Refusal {
  /** performance.now() when it was asked. */
  readonly atMs: number;
  readonly reason: string;
}

export class AdmissionStream<T> implements AsyncDisposable {
  readonly answers: T[] = [];
  readonly refusals: Refusal[] = [];
  slowestMs = 0;
  readonly #ask: (index: number) => Promise<T>;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  #asked = 0;

  /** `ask` gets the number of the request and throws ApiError for a refusal. */
  constructor(ask: (index: number) => Promise<T>) {
    this.#ask = ask;
    this.#timer = setInterval(() => this.#next(), 1000 / PER_SECOND);
  }

  /** Resolves when the last request is over. Throws where the stream had come to its end before. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#inFlight);
    if (this.#asked >= MOST)
      throw new Error(`the stream ended after ${MOST} requests, before what it was to accompany`);
  }

  /** For the log. */
  summary(): string {
    const { answers, refusals, slowestMs } = this;
    return `${answers.length} admitted, ${refusals.length} refused, slowest ${Math.round(slowestMs)} ms`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#inFlight);
  }

  #next(): void {
    if (this.#asked >= MOST || this.#inFlight.size >= MOST_IN_FLIGHT) return;
    const request = this.#run(this.#asked++).finally(() => this.#inFlight.delete(request));
    this.#inFlight.add(request);
  }

  async #run(index: number): Promise<void> {
    const atMs = performance.now();
    try {
      this.answers.push(await this.#ask(index));
    } catch (error) {
      const reason = error instanceof ApiError ? error.message : `no answer: ${error}`;
      this.refusals.push({ atMs, reason });
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - atMs);
  }
}
