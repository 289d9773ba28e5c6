import type { Registry } from "prom-client";
import Counter from "prom-client/lib/counter.js";
import Gauge from "prom-client/lib/gauge.js";
import type { Clock } from "../clock.ts";

/** What one informer reports. */
export interface InformerMetrics {
  listed(): void;
  watched(type: string): void;
  failed(doing: "list" | "watch"): void;
  handlerFailed(): void;
  size(objects: number): void;
}

const shared = new WeakMap<Registry, ReturnType<typeof register>>();

/** Informers of one registry share the metrics and differ by the label `resource`. */
export function informerMetrics(registry: Registry, resource: string, clock: Clock): InformerMetrics {
  const metrics = shared.get(registry) ?? register(registry, clock);
  shared.set(registry, metrics);
  const labels = { resource };
  const contact = () => metrics.contacts.set(resource, clock.monotonicMs());
  return {
    listed: () => {
      contact();
      metrics.lists.inc(labels);
    },
    watched: (type) => {
      contact();
      metrics.events.inc({ resource, type });
    },
    failed: (doing) => metrics.failures.inc({ resource, doing }),
    handlerFailed: () => metrics.handlerFailures.inc(labels),
    size: (objects) => metrics.objects.set(labels, objects),
  };
}

function register(registry: Registry, clock: Clock) {
  const registers = [registry];
  const contacts = new Map<string, number>();
  new Gauge({
    name: "informer_staleness_seconds",
    help: "Time since the API server last delivered anything to the informer, bookmarks included.",
    labelNames: ["resource"],
    registers,
    collect() {
      for (const [resource, atMs] of contacts) {
        this.set({ resource }, (clock.monotonicMs() - atMs) / 1000);
      }
    },
  });
  return {
    contacts,
    lists: new Counter({
      name: "informer_list_pages_total",
      help: "Pages listed.",
      labelNames: ["resource"],
      registers,
    }),
    events: new Counter({
      name: "informer_watch_events_total",
      help: "Watch events received.",
      labelNames: ["resource", "type"],
      registers,
    }),
    failures: new Counter({
      name: "informer_failures_total",
      help: "Lists and watches that failed.",
      labelNames: ["resource", "doing"],
      registers,
    }),
    handlerFailures: new Counter({
      name: "informer_handler_failures_total",
      help: "Event handlers that threw.",
      labelNames: ["resource"],
      registers,
    }),
    objects: new Gauge({
      name: "informer_objects",
      help: "Objects in the informer's store.",
      labelNames: ["resource"],
      registers,
    }),
  };
}
