import type { IncomingMessage } from "node:http";
import type { Registry } from "prom-client";
import type { ServerOptions } from "./guarded-server.ts";
import { metricsResponse, PROBE_LIMITS } from "./metrics-server.ts";
import { RouteServer, type TextResponse } from "./route-server.ts";

/** True: healthy. An object: healthy, with details for the answer. A string: what is missing. */
export type HealthCheck = () => boolean | string | Readonly<Record<string, string>>;

/**
 * The answers to probes. A process is ready when it has readiness checks, all of them pass, and it is not stopping. Without
 * any check it is not ready, because `main` adds them after the listener is open.
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

  reportReady(): HealthReport {
    if (this.#stopping) return { ok: false, checks: { stopping: "true" } };
    return this.#ready.size === 0 ? { ok: false, checks: { starting: "true" } } : report(this.#ready);
  }

  reportAlive(): HealthReport {
    return report(this.#alive);
  }
}

interface HealthReport {
  readonly ok: boolean;
  readonly checks: Readonly<Record<string, ReturnType<HealthCheck>>>;
}

function report(checks: ReadonlyMap<string, HealthCheck>): HealthReport {
  const results: Record<string, ReturnType<HealthCheck>> = {};
  let ok = true;
  for (const [name, check] of checks) {
    const result = check();
    results[name] = result === true ? "ok" : result || "not ok";
    ok &&= isFine(result);
  }
  return { ok, checks: results };
}

const isFine = (result: ReturnType<HealthCheck>): boolean => result === true || typeof result === "object";

const LOOPBACK = /^(::ffff:)?127\.|^::1$/;

/**
 * Plain HTTP: `/healthz` and `/readyz` for kubelet, `/metrics` for whoever is in the pod or forwards a port to it; undefined
 * for a pod on the node's network, where others are on the same loopback. Without fastify, which would cost the processes on
 * each node 15 MB of memory.
 */
export function healthServer(
  health: Health,
  metrics: Registry | undefined,
  options: Pick<ServerOptions, "port" | "host" | "log">,
): RouteServer {
  const mayRead = ({ socket }: IncomingMessage): boolean => LOOPBACK.test(socket.remoteAddress ?? "");
  return new RouteServer({ ...options, ...PROBE_LIMITS })
    .get("/healthz", () => answerOf(health.reportAlive()))
    .get("/readyz", () => answerOf(health.reportReady()))
    .get("/metrics", (request) => (metrics && mayRead(request) ? metricsResponse(metrics) : ELSEWHERE));
}

const ELSEWHERE: TextResponse = { status: 403, body: "metrics are served by HTTPS, to those who may get /metrics\n" };

function answerOf(report: HealthReport): TextResponse {
  return { status: report.ok ? 200 : 503, type: "application/json", body: JSON.stringify(report) };
}
