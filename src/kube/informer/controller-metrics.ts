import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { WorkQueue, WorkQueueObserver } from "./work-queue.ts";

/** How a reconcile ended; the label `result`. */
type ReconcileResult = "success" | "error" | "requeue_after";

export interface ControllerMetrics {
  readonly queue: WorkQueueObserver;
  /** Reads from the queue, at each scrape, what changes with time alone. */
  watchUnfinished(queue: Pick<WorkQueue, "unfinished">): void;
  reconciled(result: ReconcileResult, durationMs: number): void;
}

const shared = new WeakMap<Registry, ReturnType<typeof register>>();

/** Names and labels are those of client-go's work queue and of controller-runtime, so existing dashboards fit. */
export function controllerMetrics(registry: Registry, controller: string): ControllerMetrics {
  const metrics = shared.get(registry) ?? register(registry);
  shared.set(registry, metrics);
  const name = { name: controller };
  return {
    queue: {
      added: (depth) => {
        metrics.adds.inc(name);
        metrics.depth.set(name, depth);
      },
      started: (depth, waitedMs) => {
        metrics.depth.set(name, depth);
        metrics.queueSeconds.observe(name, waitedMs / 1000);
      },
      finished: (workedMs) => metrics.workSeconds.observe(name, workedMs / 1000),
      retried: () => metrics.retries.inc(name),
    },
    watchUnfinished: (queue) => metrics.queues.set(controller, queue),
    reconciled: (result, durationMs) => {
      metrics.reconciles.inc({ controller, result });
      metrics.reconcileSeconds.observe({ controller }, durationMs / 1000);
    },
  };
}

const SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60];

function register(registry: Registry) {
  const registers = [registry];
  const labelNames = ["name"];
  const queues = new Map<string, Pick<WorkQueue, "unfinished">>();
  const unfinished = (name: string, help: string, field: "totalMs" | "longestMs") =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        for (const [name, queue] of queues) {
          this.set({ name }, queue.unfinished[field] / 1000);
        }
      },
    });
  unfinished(
    "workqueue_unfinished_work_seconds",
    "Time that running reconciles have taken so far, all keys together.",
    "totalMs",
  );
  unfinished(
    "workqueue_longest_running_processor_seconds",
    "Time that the longest running reconcile has taken so far.",
    "longestMs",
  );
  return {
    queues,
    adds: new Counter({ name: "workqueue_adds_total", help: "Keys added.", labelNames, registers }),
    depth: new Gauge({ name: "workqueue_depth", help: "Keys waiting.", labelNames, registers }),
    retries: new Counter({ name: "workqueue_retries_total", help: "Keys retried.", labelNames, registers }),
    queueSeconds: new Histogram({
      name: "workqueue_queue_duration_seconds",
      help: "Time a key waited in the queue.",
      labelNames,
      buckets: SECONDS,
      registers,
    }),
    workSeconds: new Histogram({
      name: "workqueue_work_duration_seconds",
      help: "Time a reconcile of a key took.",
      labelNames,
      buckets: SECONDS,
      registers,
    }),
    reconciles: new Counter({
      name: "controller_runtime_reconcile_total",
      help: "Reconciles by result.",
      labelNames: ["controller", "result"],
      registers,
    }),
    reconcileSeconds: new Histogram({
      name: "controller_runtime_reconcile_time_seconds",
      help: "Time a reconcile took.",
      labelNames: ["controller"],
      buckets: SECONDS,
      registers,
    }),
  };
}
