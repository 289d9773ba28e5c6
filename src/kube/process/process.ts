/**
 * What every `main.ts` shares: log, signals, the listener for health and metrics, and the exit code. A `main.ts` reads its
 * configuration and calls `runProcess`; nothing else reads `process`.
 */

import { writeFileSync } from "node:fs";
import type { Logger } from "pino";
import { Counter, Gauge, Registry } from "prom-client";
import { Health, healthServer } from "../server/health.ts";
import { createLogger } from "./logger.ts";
import type { Environment } from "./read-env.ts";

export { readEnv, readPort, requireEnv } from "./read-env.ts";

interface ProcessContext {
  readonly env: Environment;
  readonly log: Logger;
  /** Aborts on SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
  readonly metrics: Registry;
  readonly health: Health;
  /** Ends the process with exit code 1, for the kubelet to start it anew. The log has the reason, a sentence. */
  readonly restart: (reason: string) => never;
}

export interface ProcessOptions {
  readonly name: string;
  readonly env: Environment;
  /** Port of the plain HTTP listener with /healthz, /readyz, /metrics. Undefined: no listener. 0: any free port, which is logged. */
  readonly healthPort?: number | undefined;
  /** Address that it is bound to. Undefined: all addresses. */
  readonly healthHost?: string | undefined;
  /** Whether the process is on the node's network. Then its metrics need a token: loopback belongs to the whole node. */
  readonly hostNetwork?: boolean;
  /** Returns when everything has stopped, or when there is nothing more to do. */
  readonly main: (context: ProcessContext) => Promise<void>;
}

/** The kubelet makes the file in each container, and puts what it says into the pod's status. */
const TERMINATION_LOG = "/dev/termination-log";

/** How long `main` may take after the signal; kubelet kills the process after 30 s. */
const STOP_TIMEOUT_MS = 25_000;

/**
 * Runs `main` and ends the process. The exit code is 0 when `main` returns; 1 when it throws, does not return in time, or
 * an error is not caught; 130 after a second SIGTERM or SIGINT.
 */
export async function runProcess(options: ProcessOptions): Promise<never> {
  const log = createLogger({ name: options.name, level: options.env.LOG_LEVEL });
  const stopping = new AbortController();
  const health = new Health();
  const metrics = new Registry();
  processMetrics(metrics);
  const die = (what: string) => (error: unknown) => {
    log.fatal({ err: error }, what);
    writeTerminationMessage(error);
    process.exit(1);
  };
  const restart = (reason: string): never => {
    log.error(reason);
    writeTerminationMessage(reason);
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
  try {
    if (options.healthPort !== undefined) {
      const address = { port: options.healthPort, ...(options.healthHost && { host: options.healthHost }) };
      const server = healthServer(health, options.hostNetwork === true ? undefined : metrics, { ...address, log });
      log.debug({ port: await server.listen() }, "health listener");
    }
    await options.main({ env: options.env, log, signal: stopping.signal, metrics, health, restart });
  } catch (error) {
    if (!stopping.signal.aborted || error !== stopping.signal.reason) {
      die("failed")(error);
    }
  }
  log.info("stopped");
  process.exit(0);
}

/** Why the process ends, in one line for the kubelet. Outside of a pod there is no such file. */
function writeTerminationMessage(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  try {
    writeFileSync(TERMINATION_LOG, text.replaceAll(/\s+/g, " "), { flag: "r+" });
  } catch {
    // The log has it.
  }
}

/** The few process metrics that dashboards show, without prom-client's big collectors. */
function processMetrics(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: "process_resident_memory_bytes",
    help: "Resident memory.",
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Counter({
    name: "process_cpu_seconds_total",
    help: "User and system CPU time.",
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: "process_start_time_seconds",
    help: "Start of the process, seconds since the epoch.",
    registers,
  }).set(Math.round(Date.now() / 1000 - process.uptime()));
}
