import type { Registry } from "prom-client";
import { type Clock, systemClock } from "../clock.ts";
import type { Credentials } from "../credentials/credentials.ts";
import { type Log, silentLog } from "../log.ts";
import { type ApiError, apiErrorFrom, ConnectionError } from "./api-error.ts";
import { type ClientMetrics, clientMetrics, NO_METRICS } from "./client-metrics.ts";
import { collected, decompressed } from "./content-encoding.ts";
import { deadline } from "./deadline.ts";
import { nameOf } from "./paths.ts";
import { type Attempts, retryDecision } from "./retry.ts";
import { Semaphore } from "./semaphore.ts";
import { Transport, type TransportResponse } from "./transport.ts";

/** One call of the API: what is sent, and how long it may take with all its repetitions. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: TransportResponse["headers"];
  readonly body: Buffer;
}

export interface ApiCallerOptions {
  readonly credentials: Credentials;
  readonly userAgent?: string;
  readonly log?: Log;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Concurrent calls, watches not counted. */
  readonly maxInFlight?: number;
  /** A watch that is silent for this long is broken: the API server sends a bookmark each minute. */
  readonly watchSilenceMs?: number;
  readonly metrics?: Registry;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_IN_FLIGHT = 64;
const DEFAULT_WATCH_SILENCE_MS = 150_000;
/** Longest answer held in memory: a page of 500 objects is some MB. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** Calls with deadline, bounded concurrency and the repetitions of `retry.ts`; below it is the bare transport. */
export class ApiCaller {
  readonly #credentials: Credentials;
  readonly #transport: Transport;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #semaphore: Semaphore;
  readonly #watchSilenceMs: number;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #metrics: ClientMetrics;

  constructor(options: ApiCallerOptions) {
    this.#credentials = options.credentials;
    this.#transport = new Transport(options.credentials);
    this.#headers = {
      accept: "application/json",
      "user-agent": options.userAgent ?? "kube-client",
    };
    this.#metrics = options.metrics
      ? clientMetrics(options.metrics, new URL(options.credentials.server).host)
      : NO_METRICS;
    this.#log = options.log ?? silentLog;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#semaphore = new Semaphore(options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT);
    this.#watchSilenceMs = options.watchSilenceMs ?? DEFAULT_WATCH_SILENCE_MS;
  }

  /** The answer, whatever its status. Throws `ConnectionError` when none arrived in time, or the signal's reason. */
  async call(call: Call): Promise<ApiResponse> {
    const timeoutMs = call.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    using limit = deadline(timeoutMs, call.signal);
    try {
      const startedMs = this.#clock.monotonicMs();
      const release = await this.#semaphore.acquire(limit.signal);
      this.#metrics.waited(call.method, this.#clock.monotonicMs() - startedMs);
      this.#metrics.inFlight(1);
      try {
        return await this.#repeat(call, limit.signal, startedMs + timeoutMs);
      } finally {
        release();
        this.#metrics.inFlight(-1);
      }
    } catch (error) {
      if (limit.expired) {
        throw new ConnectionError(`${call.method} ${call.path}: no answer within ${timeoutMs} ms`, {
          written: true,
          code: "ETIMEDOUT",
          cause: error,
        });
      }
      throw error;
    }
  }

  /** Opens a watch, or another body that is read while it arrives. Throws the refusal; after 401 it tries once more with fresh credentials. */
  async stream(call: Call, verb: "WATCH" | "GET" = "WATCH"): Promise<AsyncIterable<Buffer>> {
    for (let attempt = 0; ; attempt++) {
      const response = await this.#send(call, verb, call.signal, this.#watchSilenceMs);
      if (response.status === 200) {
        return decompressed(response.body, response.headers["content-encoding"], nameOf(call));
      }
      const answer = await readResponse(response, nameOf(call));
      if (answer.status !== 401 || attempt > 0) {
        throw refusal(call, answer);
      }
      this.#credentials.refresh(response.authorization);
      this.#metrics.repeated(verb, 401);
    }
  }

  close(): void {
    this.#transport.close();
  }

  async #repeat(call: Call, signal: AbortSignal, endsAtMs: number): Promise<ApiResponse> {
    let attempts: Attempts = { throttled: 0, connection: 0 };
    let refreshed = false;
    for (;;) {
      const outcome = await this.#once(call, signal);
      if (outcome.answer && outcome.answer.status < 400) {
        return outcome.answer;
      }
      if (outcome.answer?.status === 401 && !refreshed) {
        refreshed = true;
        this.#credentials.refresh(outcome.authorization);
        this.#metrics.repeated(call.method, 401);
        continue;
      }
      const error = outcome.answer ? refusal(call, outcome.answer) : outcome.error;
      const decision = signal.aborted
        ? ({ retry: false } as const)
        : retryDecision(call.method, error, attempts, this.#random);
      if (!decision.retry || this.#clock.monotonicMs() + decision.delayMs > endsAtMs) {
        if (outcome.answer) {
          return outcome.answer;
        }
        throw error;
      }
      attempts =
        error instanceof ConnectionError
          ? { ...attempts, connection: attempts.connection + 1 }
          : { ...attempts, throttled: attempts.throttled + 1 };
      this.#metrics.repeated(call.method, outcome.answer?.status ?? "<error>");
      this.#log.debug({ err: error, delayMs: decision.delayMs }, `repeating ${call.method} ${call.path}`);
      await this.#clock.sleep(decision.delayMs, signal);
    }
  }

  async #once(call: Call, signal: AbortSignal): Promise<Outcome> {
    try {
      const response = await this.#send(call, call.method, signal, 0);
      return { answer: await readResponse(response, nameOf(call)), authorization: response.authorization };
    } catch (error) {
      return { error };
    }
  }

  async #send(call: Call, verb: string, signal: AbortSignal | undefined, idleTimeoutMs: number) {
    const { method, path, body } = call;
    const headers = call.headers ? { ...this.#headers, ...call.headers } : this.#headers;
    const startedMs = this.#clock.monotonicMs();
    try {
      const response = await this.#transport.send({ method, path, headers, body, signal, idleTimeoutMs });
      this.#metrics.answered(verb, response.status, this.#clock.monotonicMs() - startedMs);
      return response;
    } catch (error) {
      this.#metrics.answered(verb, "<error>", this.#clock.monotonicMs() - startedMs);
      throw error;
    }
  }
}

interface Outcome {
  readonly answer?: ApiResponse;
  readonly error?: unknown;
  readonly authorization?: string | undefined;
}

export function refusal(call: Call, answer: ApiResponse): ApiError {
  const retryAfter = answer.headers["retry-after"];
  return apiErrorFrom({
    status: answer.status,
    body: answer.body.toString("utf8"),
    retryAfter: Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
    request: nameOf(call),
  });
}

async function readResponse(response: TransportResponse, request: string): Promise<ApiResponse> {
  const { status, headers } = response;
  const body = decompressed(response.body, headers["content-encoding"], request);
  return { status, headers, body: await collected(body, MAX_ANSWER_BYTES, request) };
}
