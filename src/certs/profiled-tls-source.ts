import { createSecureContext } from "node:tls";
import type { Registry } from "prom-client";
import { NETWORK_ADDONS_CONFIGS } from "../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../api/names.ts";
import type { NetworkAddonsConfig } from "../api/network-addons-config.ts";
import { tlsSecurityProfileSchema } from "../api/tls-security-profile.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Resource } from "../kube/client/resource.ts";
import type { CertificateSource, ServerCertificate, TlsLimits } from "../kube/http/certificate-source.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";
import { tlsLimits } from "./tls-profile.ts";

export interface ProfiledTlsSourceOptions {
  readonly client: KubeClient;
  readonly certificates: CertificateSource;
  readonly log: Log;
  readonly metrics: Registry;
}

const CONFIGS = NETWORK_ADDONS_CONFIGS as Resource<NetworkAddonsConfig & { metadata: object }>;

/**
 * A listener's certificate with the TLS versions and ciphers of the NetworkAddonsConfig. A changed profile applies to the
 * next connection. Without a NetworkAddonsConfig the profile is Modern. An unreadable profile leaves the last valid one in
 * force.
 */
export class ProfiledTlsSource implements CertificateSource {
  readonly #options: ProfiledTlsSourceOptions;
  readonly #informer: Informer<NetworkAddonsConfig & { metadata: object }>;
  readonly #listeners = new Set<() => void>();
  #limits: TlsLimits = tlsLimits(undefined);

  constructor(options: ProfiledTlsSourceOptions) {
    this.#options = options;
    this.#informer = new Informer({
      client: options.client,
      resource: CONFIGS,
      fieldSelector: `metadata.name=${NETWORK_ADDONS_CONFIG_NAME}`,
      absentIsEmpty: true,
      log: options.log,
      metrics: options.metrics,
    });
    const read = (config: NetworkAddonsConfig): void => this.#read(config.spec?.tlsSecurityProfile);
    this.#informer.on({ add: read, update: read, delete: () => this.#read(undefined) });
  }

  current(): ServerCertificate | undefined {
    const certificate = this.#options.certificates.current();
    return certificate && { ...certificate, limits: this.#limits };
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    const unsubscribe = this.#options.certificates.onChange(listener);
    return () => {
      this.#listeners.delete(listener);
      unsubscribe();
    };
  }

  /** Watches the NetworkAddonsConfig until the signal aborts. The creator of the certificate source runs that source. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#informer.run(signal);
  }

  retryNow(relist: boolean): void {
    this.#informer.retryNow(relist);
  }

  #read(written: unknown): void {
    const parsed = tlsSecurityProfileSchema.optional().safeParse(written);
    if (!parsed.success) {
      this.#options.log.warn("spec.tlsSecurityProfile is invalid: the last valid profile stays in force");
      return;
    }
    const limits = tlsLimits(parsed.data);
    if (limits.minVersion === this.#limits.minVersion && limits.ciphers === this.#limits.ciphers) return;
    const fault = faultOf(limits);
    if (fault !== undefined) {
      this.#options.log.warn(
        { fault },
        "spec.tlsSecurityProfile has no usable cipher: the last valid profile stays in force",
      );
      return;
    }
    this.#limits = limits;
    this.#options.log.info({ minVersion: limits.minVersion }, "the TLS security profile has changed");
    for (const listener of this.#listeners) listener();
  }
}

/** Limits that the library refuses would block the next certificate too. */
function faultOf(limits: TlsLimits): string | undefined {
  try {
    createSecureContext(limits);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
