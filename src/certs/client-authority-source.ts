import type { Registry } from "prom-client";
import type { ConfigMap } from "../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { RESOURCES } from "../kube/client/resource.ts";
import type { Log } from "../kube/log.ts";
import type { CertificateSource, ClientAuthority, ServerCertificate } from "../kube/server/certificate-source.ts";
import { formatBundle, parseBundle } from "./certificate.ts";
import { WatchedSource } from "./watched-source.ts";

export interface ClientAuthoritySourceOptions {
  readonly client: KubeClient;
  readonly certificates: CertificateSource;
  readonly namespace: string;
  /** Name of the ConfigMap: a bundle of certificates in PEM, and `names` with a common name in each line. */
  readonly configMap: string;
  /** Key of the bundle; `ca.crt` unless given. */
  readonly key?: string;
  /** Whoever has no certificate may connect, and does not wait until the ConfigMap is read. */
  readonly isOptional?: boolean;
  readonly log: Log;
  readonly metrics: Registry;
}

/**
 * A listener's certificate with the authority of its clients, read from a ConfigMap by watch. While there is no such
 * ConfigMap, anybody may connect. One that can't be read leaves the last valid one in force; where there was none, nobody may
 * connect.
 */
export class ClientAuthoritySource extends WatchedSource<ConfigMap> {
  readonly #options: ClientAuthoritySourceOptions;
  #clients: ClientAuthority | undefined;
  #problem: string | undefined;

  constructor(options: ClientAuthoritySourceOptions) {
    const { certificates, client, namespace, configMap, log, metrics } = options;
    super({ client, resource: RESOURCES.configMaps, namespace, name: configMap, log, metrics }, certificates);
    this.#options = options;
  }

  /** What is wrong with the ConfigMap, and what follows from it. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Undefined until it is known who may connect, as without a certificate. */
  override current(): ServerCertificate | undefined {
    const isKnown = this.informer.hasSynced || this.#options.isOptional === true;
    const certificate = isKnown ? this.#options.certificates.current() : undefined;
    return certificate && { ...certificate, ...(this.#clients && { clients: this.#clients }) };
  }

  override async run(signal: AbortSignal): Promise<void> {
    this.informer.whenSynced(signal).then(
      () => this.notify(),
      () => {},
    );
    await super.run(signal);
  }

  protected override read(found: ConfigMap | undefined): void {
    if (found === undefined) {
      this.#use(undefined);
      return;
    }
    const { data = {} } = found;
    const { namespace, configMap, log, key = "ca.crt", isOptional } = this.#options;
    const bundle = parseBundle(data[key] ?? "");
    if (bundle.length === 0) {
      const what = `ConfigMap ${namespace}/${configMap} has no certificate in PEM under ${key}`;
      const isClosed = this.#clients === undefined || this.#clients.problem !== undefined;
      const consequence = isClosed
        ? "nobody may call. Correct it, or delete it to let anybody call"
        : "its last valid content stays in force until this process ends. Correct it";
      this.#problem = `${what}, so ${isOptional ? "no certificate of a client counts. Correct it" : consequence}.`;
      log.error(this.#problem);
      if (isOptional !== true && isClosed) this.#clients = { ca: "", names: [], problem: this.#problem };
      this.notify();
      return;
    }
    const names = (data.names ?? "").split("\n").flatMap((line) => line.trim() || []);
    this.#use({ ca: formatBundle(bundle), names, ...(isOptional && { isOptional }) });
  }

  #use(clients: ClientAuthority | undefined): void {
    this.#clients = clients;
    this.#problem = undefined;
    const { namespace, configMap, log } = this.#options;
    const who =
      clients === undefined ? "anybody" : `clients with a certificate as ConfigMap ${namespace}/${configMap} says`;
    const what = this.#options.isOptional === true ? "clients are known by their certificate" : "webhooks are served";
    log.info({ names: clients?.names }, `${what}: ${who}`);
    this.notify();
  }
}
