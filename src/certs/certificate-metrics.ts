import type { Registry } from "prom-client";
import Gauge from "prom-client/lib/gauge.js";

/**
 * Until when each certificate that a manager keeps is valid, as alerts need it: read when it is scraped. A Secret
 * without a usable certificate has no line.
 */
export function certificateMetrics(
  registry: Registry,
  notAfterMs: () => Iterable<readonly [secret: string, notAfterMs: number | undefined]>,
): void {
  new Gauge({
    name: "cert_manager_certificate_not_after_seconds",
    help: "Unix time until which the certificate in a Secret is valid, CA and serving certificate each.",
    labelNames: ["secret"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [secret, ms] of notAfterMs()) if (ms !== undefined) this.set({ secret }, ms / 1000);
    },
  });
}
