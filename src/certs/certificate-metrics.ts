import type { Registry } from "prom-client";
import Gauge from "prom-client/lib/gauge.js";

/**
 * Expiry of each certificate of a manager, read at the scrape. A Secret without a usable certificate has no line. The
 * returned function removes the metric.
 */
export function certificateMetrics(
  registry: Registry,
  notAfterMs: () => Iterable<readonly [secret: string, notAfterMs: number | undefined]>,
): () => void {
  const name = "cert_manager_certificate_not_after_seconds";
  new Gauge({
    name,
    help: "Unix time at which the certificate in a Secret expires.",
    labelNames: ["secret"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [secret, ms] of notAfterMs()) if (ms !== undefined) this.set({ secret }, ms / 1000);
    },
  });
  return () => registry.removeSingleMetric(name);
}
