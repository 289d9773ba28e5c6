import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** What one client reports. `verb` is the HTTP method, `WATCH` for a watch's opening. */
export interface ClientMetrics {
  /** Headers arrived, or nothing did: `code` is then `<error>`, as in client-go. */
  answered(verb: string, code: number | "<error>", durationMs: number): void;
  repeated(verb: string, code: number | "<error>"): void;
  /** Time that a call waited because too many were running. */
  waited(verb: string, durationMs: number): void;
  /** A call began or ended. */
  inFlight(change: 1 | -1): void;
}

export const NO_METRICS: ClientMetrics = {
  answered() {},
  repeated() {},
  waited() {},
  inFlight() {},
};

const shared = new WeakMap<Registry, ReturnType<typeof register>>();

/** Names and labels are client-go's, so existing dashboards fit. Clients of one registry share the metrics. */
export function clientMetrics(registry: Registry, host: string): ClientMetrics {
  const metrics = shared.get(registry) ?? register(registry);
  shared.set(registry, metrics);
  return {
    answered: (verb, code, durationMs) => {
      metrics.requests.inc({ method: verb, code, host });
      metrics.seconds.observe({ verb, host }, durationMs / 1000);
    },
    repeated: (verb, code) => metrics.retries.inc({ verb, code, host }),
    waited: (verb, durationMs) => metrics.waits.observe({ verb, host }, durationMs / 1000),
    inFlight: (change) => metrics.inFlight.inc({ host }, change),
  };
}

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

function register(registry: Registry) {
  const registers = [registry];
  return {
    requests: new Counter({
      name: "rest_client_requests_total",
      help: "Requests by HTTP status code.",
      labelNames: ["method", "code", "host"],
      registers,
    }),
    seconds: new Histogram({
      name: "rest_client_request_duration_seconds",
      help: "Time until the headers of the answer.",
      labelNames: ["verb", "host"],
      buckets: SECONDS,
      registers,
    }),
    retries: new Counter({
      name: "rest_client_request_retries_total",
      help: "Requests that were repeated, by the status code that caused it.",
      labelNames: ["verb", "code", "host"],
      registers,
    }),
    waits: new Histogram({
      name: "rest_client_rate_limiter_duration_seconds",
      help: "Time that calls waited for a free place.",
      labelNames: ["verb", "host"],
      buckets: SECONDS,
      registers,
    }),
    inFlight: new Gauge({
      name: "rest_client_requests_in_flight",
      help: "Running calls, watches not counted.",
      labelNames: ["host"],
      registers,
    }),
  };
}
