import { createSecureContext } from "node:tls";
import type { Registry } from "prom-client";
import { NETWORK_ADDONS_CONFIGS } from "../api/kinds.ts";
import { NETWORK_ADDONS_CONFIG_NAME } from "../api/names.ts";
import type { NetworkAddonsConfig } from "../api/network-addons-config.ts";
import type { KubeClient } from "../kube/client/client.ts";
import type { Resource } from "../kube/client/resource.ts";
import type { Log } from "../kube/log.ts";
import type { CertificateSource, ServerCertificate, TlsLimits } from "../kube/server/certificate-source.ts";
import { readTlsProfile, tlsLimits } from "./tls-profile.ts";
import { WatchedSource } from "./watched-source.ts";

export interface ProfiledTlsSourceOptions {
  readonly client: KubeClient;
  readonly certificates: CertificateSource;
  readonly log: Log;
  readonly metrics: Registry;
}

type Config = NetworkAddonsConfig & { metadata: object };

const CONFIGS = NETWORK_ADDONS_CONFIGS as Resource<Config>;

/**
 * A listener's certificate with the TLS versions and ciphers of the NetworkAddonsConfig. A changed profile applies to the
 * next connection. Without a NetworkAddonsConfig the profile is Modern. An unreadable profile leaves the last valid one in
 * force.
 */
export class ProfiledTlsSource extends WatchedSource<Config> {
  readonly #options: ProfiledTlsSourceOptions;
  #limits: TlsLimits = tlsLimits(undefined);

  constructor(options: ProfiledTlsSourceOptions) {
    const { certificates, client, log, metrics } = options;
    const watched = { client, log, metrics, resource: CONFIGS, name: NETWORK_ADDONS_CONFIG_NAME, absentIsEmpty: true };
    super(watched, certificates);
    this.#options = options;
  }

  override current(): ServerCertificate | undefined {
    const certificate = this.#options.certificates.current();
    return certificate && { ...certificate, limits: this.#limits };
  }

  retryNow(relist: boolean): void {
    this.informer.retryNow(relist);
  }

  protected override read(config: Config | undefined): void {
    const limits = this.#limitsOf(config);
    if (limits === undefined) return;
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
    this.notify();
  }

  #limitsOf(config: Config | undefined): TlsLimits | undefined {
    try {
      return tlsLimits(readTlsProfile(config?.spec?.tlsSecurityProfile));
    } catch (error) {
      const message = "spec.tlsSecurityProfile is invalid: the last valid profile stays in force";
      this.#options.log.warn({ err: error }, message);
      return undefined;
    }
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
