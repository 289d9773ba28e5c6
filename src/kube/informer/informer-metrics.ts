import { Counter, Gauge, type Registry } from "prom-client";
import { ApiError } from "../client/api-error.ts";
import type { Clock } from "../clock.ts";

/** What one informer reports. Between `started` and `ended` it counts for staleness and size. */
export interface InformerMetrics {
  started(): void;
  listed(): void;
  watched(type: string): void;
  /** The API server does not serve the kind, which is allowed. */
  absent(): void;
  failed(doing: "list" | "watch", error: unknown): void;
  /** It answered, also where it reported nothing. */
  answered(): void;
  /** How long ago it last answered; a refusal is an answer too. 0 unless the informer runs. */
  silentMs(): number;
  handlerFailed(): void;
  size(objects: number): void;
  ended(): void;
}

interface Running {
  readonly resource: string;
  contactMs: number;
  answeredMs: number;
  objects: number;
}

const shared = new WeakMap<Registry, ReturnType<typeof register>>();

/** Informers of one registry share the metrics; those of one resource are added up. */
export function informerMetrics(registry: Registry, resource: string, clock: Clock): InformerMetrics {
  const metrics = shared.get(registry) ?? register(registry, clock);
  shared.set(registry, metrics);
  const labels = { resource };
  const own: Running = { resource, contactMs: 0, answeredMs: 0, objects: 0 };
  const answered = () => {
    own.answeredMs = clock.monotonicMs();
  };
  const contact = () => {
    own.contactMs = clock.monotonicMs();
    answered();
  };
  return {
    started: () => {
      contact();
      metrics.running.add(own);
    },
    listed: () => {
      contact();
      metrics.lists.inc(labels);
    },
    watched: (type) => {
      contact();
      metrics.events.inc({ resource, type });
    },
    absent: contact,
    failed: (doing, error) => {
      metrics.failures.inc({ resource, doing });
      if (error instanceof ApiError && error.status < 500) answered();
    },
    answered,
    silentMs: () => (metrics.running.has(own) ? clock.monotonicMs() - own.answeredMs : 0),
    handlerFailed: () => metrics.handlerFailures.inc(labels),
    size: (objects) => {
      own.objects = objects;
    },
    ended: () => metrics.running.delete(own),
  };
}

function register(registry: Registry, clock: Clock) {
  const registers = [registry];
  const running = new Set<Running>();
  const ofEach = (value: (informer: Running) => number, join: (one: number, other: number) => number) => {
    const values = new Map<string, number>();
    for (const informer of running) {
      const before = values.get(informer.resource);
      values.set(informer.resource, before === undefined ? value(informer) : join(before, value(informer)));
    }
    return values;
  };
  const gauge = (name: string, help: string, values: () => ReadonlyMap<string, number>) =>
    new Gauge({
      name,
      help,
      labelNames: ["resource"],
      registers,
      collect() {
        this.reset();
        for (const [resource, value] of values()) {
          this.set({ resource }, value);
        }
      },
    });
  gauge(
    "informer_staleness_seconds",
    "Time since the API server last answered the informer, bookmarks included; the longest of the resource's informers.",
    () => ofEach(({ contactMs }) => (clock.monotonicMs() - contactMs) / 1000, Math.max),
  );
  gauge("informer_objects", "Objects in the informers' caches.", () =>
    ofEach(
      ({ objects }) => objects,
      (one, other) => one + other,
    ),
  );
  return {
    running,
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
  };
}
