import type { Registry } from "prom-client";
import { type HttpAnswer, jsonAnswer } from "../http/http-handler.ts";
import { HttpServer } from "../http/server.ts";
import type { Log } from "../log.ts";

/** True: fine. An object: fine, and what to tell whoever asks. A string: what is missing. */
export type HealthCheck = () => boolean | string | Readonly<Record<string, string>>;

/**
 * What probes ask for. A process is ready when it has readiness checks, all of them hold, and it is not stopping: the
 * listener is there before `main` has come so far as to add them.
 */
export class Health {
  readonly #ready = new Map<string, HealthCheck>();
  readonly #alive = new Map<string, HealthCheck>();
  #stopping = false;

  /** Adds or replaces a readiness check. */
  ready(name: string, check: HealthCheck): this {
    this.#ready.set(name, check);
    return this;
  }

  /** Adds or replaces a liveness check: when it fails, kubelet restarts the container. */
  alive(name: string, check: HealthCheck): this {
    this.#alive.set(name, check);
    return this;
  }

  /** Not ready from now on. */
  stop(): void {
    this.#stopping = true;
  }

  get isReady(): boolean {
    return !this.#stopping && this.#ready.size > 0 && [...this.#ready.values()].every((check) => isFine(check()));
  }

  answerReady(): HttpAnswer {
    if (this.#stopping) return jsonAnswer(503, { ok: false, checks: { stopping: "true" } });
    return this.#ready.size === 0 ? jsonAnswer(503, { ok: false, checks: { starting: "true" } }) : report(this.#ready);
  }

  answerAlive(): HttpAnswer {
    return report(this.#alive);
  }
}

function report(checks: ReadonlyMap<string, HealthCheck>): HttpAnswer {
  const results: Record<string, ReturnType<HealthCheck>> = {};
  let ok = true;
  for (const [name, check] of checks) {
    const result = check();
    results[name] = result === true ? "ok" : result || "not ok";
    ok &&= isFine(result);
  }
  return jsonAnswer(ok ? 200 : 503, { ok, checks: results });
}

const isFine = (result: ReturnType<HealthCheck>): boolean => result === true || typeof result === "object";

/** Plain HTTP: `/healthz`, `/readyz`, `/metrics`. */
export function healthServer(options: {
  port: number;
  host?: string;
  health: Health;
  metrics: Registry;
  log: Log;
}): HttpServer {
  const { health, metrics, ...server } = options;
  return new HttpServer(server)
    .route("GET", "/healthz", () => health.answerAlive())
    .route("GET", "/readyz", () => health.answerReady())
    .route("GET", "/metrics", async () => ({
      status: 200,
      headers: { "content-type": metrics.contentType },
      body: await metrics.metrics(),
    }));
}
