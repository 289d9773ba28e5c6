import { once } from "node:events";
import type { Registry } from "prom-client";
import { MetricsAccess } from "../kube/access/metrics-access.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Log } from "../kube/log.ts";
import type { CertificateSource } from "../kube/server/certificate-source.ts";
import { metricsServer } from "../kube/server/metrics-server.ts";
import { SelfSignedTlsSource } from "./self-signed.ts";
import { tlsLimits } from "./tls-profile.ts";

export interface MetricsEndpointOptions {
  /** For questions about those who scrape. */
  readonly client: KubeClient;
  /** Undefined: metrics are not served. */
  readonly port: number | undefined;
  readonly metrics: Registry;
  readonly log: Log;
}

/** A process's metrics by HTTPS until the signal aborts. Rejects when the port can't be had. */
export async function serveMetrics(
  { client, port, tls, metrics, log }: MetricsEndpointOptions & { readonly tls: CertificateSource },
  signal: AbortSignal,
): Promise<void> {
  if (port === undefined || signal.aborted) return;
  await using server = metricsServer({ port, tls, access: MetricsAccess.of(client), metrics, log });
  await server.listen();
  log.debug({ port: server.port }, "metrics listener");
  if (!signal.aborted) await once(signal, "abort");
}

/**
 * Metrics of a daemon on every node until the signal aborts, with TLS 1.3 only: thousands of watches for the TLS profile would
 * be too many. On the node's network its port may be taken: then the log says so, and the daemon does its work.
 */
export async function serveNodeMetrics(
  options: MetricsEndpointOptions & { readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  const { name, log } = options;
  const certificates = new SelfSignedTlsSource(name);
  const tls: CertificateSource = {
    current: () => ({ ...certificates.current(), limits: tlsLimits(undefined) }),
    onChange: (listener) => certificates.onChange(listener),
  };
  const serving = serveMetrics({ ...options, tls }, signal).catch((error) =>
    log.error({ err: error }, "there are no metrics by HTTPS"),
  );
  await Promise.all([certificates.run(signal), serving]);
}
