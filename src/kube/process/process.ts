/**
 * What every `main.ts` shares: log, signals, health and metrics listener, and what an end means for the exit code.
 * A `main.ts` reads its configuration, calls `runProcess`, and nothing else reads `process`.
 */
import type { Logger } from "pino";
import type { Registry } from "prom-client";
import PromRegistry from "prom-client/lib/registry.js";
import type { HttpServer } from "../http/server.ts";
import { Health, healthServer } from "./health.ts";
import { createLogger } from "./logger.ts";
import { processMetrics } from "./process-metrics.ts";
import type { Environment } from "./read-env.ts";

export type { HealthCheck } from "./health.ts";
export { Health } from "./health.ts";
export { type Environment, readEnv, readPort, requireEnv } from "./read-env.ts";

export interface ProcessContext {
  readonly env: Environment;
  readonly log: Logger;
  /** Aborts on SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
  readonly metrics: Registry;
  readonly health: Health;
}

export interface ProcessOptions {
  readonly name: string;
  readonly env: Environment;
  /** Of the plain HTTP listener with /healthz, /readyz, /metrics; none if left out. 0 for any, which is logged. */
  readonly healthPort?: number | undefined;
  readonly healthHost?: string | undefined;
  /** Returns when everything is stopped; a process that has nothing more to do may return by itself. */
  readonly main: (context: ProcessContext) => Promise<void>;
}

/** Time for `main` to come back after the signal; kubelet kills after 30 s. */
const STOP_TIMEOUT_MS = 25_000;

/**
 * Runs `main` and ends the process: 0 when it returns, 1 when it throws, when anything throws where nobody catches, or
 * when it does not come back in time; 130 on a second SIGTERM or SIGINT.
 */
export async function runProcess(options: ProcessOptions): Promise<never> {
  const log = createLogger({ name: options.name, level: options.env.LOG_LEVEL });
  const stopping = new AbortController();
  const health = new Health();
  const metrics = new PromRegistry();
  processMetrics(metrics);
  const die = (what: string) => (error: unknown) => {
    log.fatal({ err: error }, what);
    process.exit(1);
  };
  process.on("uncaughtException", die("uncaught exception"));
  process.on("unhandledRejection", die("unhandled rejection"));
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    process.on(name, () => {
      if (stopping.signal.aborted) {
        process.exit(130);
      }
      log.info({ signal: name }, "stopping");
      health.stop();
      setTimeout(die(`not stopped within ${STOP_TIMEOUT_MS} ms`), STOP_TIMEOUT_MS).unref();
      stopping.abort(new Error(`received ${name}`));
    });
  }
  let server: HttpServer | undefined;
  try {
    if (options.healthPort !== undefined) {
      const host = options.healthHost === undefined ? {} : { host: options.healthHost };
      server = healthServer({ port: options.healthPort, ...host, health, metrics, log });
      const port = await server.listen();
      log.debug({ port }, "health listener");
    }
    await options.main({ env: options.env, log, signal: stopping.signal, metrics, health });
  } catch (error) {
    if (!stopping.signal.aborted || error !== stopping.signal.reason) {
      die("failed")(error);
    }
  }
  await server?.drain(0);
  log.info("stopped");
  process.exit(0);
}
