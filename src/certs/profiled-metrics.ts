import { type MetricsEndpointOptions, serveMetrics } from "./metrics-endpoint.ts";
import { ProfiledTlsSource } from "./profiled-tls-source.ts";
import { SelfSignedTlsSource } from "./self-signed.ts";

export type ProfiledMetricsOptions = MetricsEndpointOptions & { readonly name: string };

/**
 * Metrics of a process that has no Secret for its certificate, with the TLS profile of the NetworkAddonsConfig.
 */
export class ProfiledMetrics {
  readonly #options: ProfiledMetricsOptions;
  readonly #certificates: SelfSignedTlsSource;
  readonly #tls: ProfiledTlsSource;

  constructor(options: ProfiledMetricsOptions) {
    this.#options = options;
    this.#certificates = new SelfSignedTlsSource(options.name);
    this.#tls = new ProfiledTlsSource({ ...options, certificates: this.#certificates });
  }

  /** Serves until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#options.port === undefined) return;
    const [certificates, tls] = [this.#certificates, this.#tls];
    await Promise.all([certificates.run(signal), tls.run(signal), serveMetrics({ ...this.#options, tls }, signal)]);
  }

  /** Ends the wait for the API server's next answer. `relist`: and reads the profile anew. */
  retryNow(relist: boolean): void {
    this.#tls.retryNow(relist);
  }
}
