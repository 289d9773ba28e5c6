import { type MetricsEndpointOptions, serveMetrics } from "./metrics-endpoint.ts";
import { ProfiledTlsSource } from "./profiled-tls-source.ts";
import { SelfSignedTlsSource } from "./self-signed-tls-source.ts";

/**
 * Metrics of a process that has no Secret for its certificate, with the TLS profile of the NetworkAddonsConfig, until the
 * signal aborts.
 */
export async function serveProfiledMetrics(
  options: MetricsEndpointOptions & { readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  if (options.port === undefined) return;
  const certificates = new SelfSignedTlsSource(options.name);
  const tls = new ProfiledTlsSource({ ...options, certificates });
  await Promise.all([certificates.run(signal), tls.run(signal), serveMetrics({ ...options, tls }, signal)]);
}
