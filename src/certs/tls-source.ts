import type { Registry } from "prom-client";
import type { Secret } from "../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { RESOURCES } from "../kube/client/resource.ts";
import type { Log } from "../kube/log.ts";
import type { ServerCertificate } from "../kube/server/certificate-source.ts";
import type { KeyPair } from "./certificate.ts";
import { readKeyPair } from "./secret-data.ts";
import { WatchedSource } from "./watched-source.ts";

export interface SecretTlsSourceOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly secret: string;
  readonly log: Log;
  readonly metrics: Registry;
}

/**
 * The certificate of a listener, read from a Secret by watch. A rotation is in service milliseconds after its write,
 * without the kubelet's mount delay. While the Secret is empty, broken or gone, the last valid pair stays.
 */
export class SecretTlsSource extends WatchedSource<Secret> {
  readonly #options: SecretTlsSourceOptions;
  #pair: KeyPair | undefined;

  constructor(options: SecretTlsSourceOptions) {
    const { secret, ...watched } = options;
    super({ ...watched, resource: RESOURCES.secrets, name: secret });
    this.#options = options;
  }

  /** Undefined until the Secret first held a usable pair. */
  override current(): ServerCertificate | undefined {
    if (this.#pair === undefined) return undefined;
    const { certificate, keyPem } = this.#pair;
    return { cert: certificate.pem, key: keyPem, notAfterMs: certificate.notAfterMs };
  }

  protected override read(secret: Secret | undefined): void {
    if (secret === undefined) return;
    const { namespace, secret: name, log } = this.#options;
    const pair = readKeyPair(secret);
    if (pair === undefined) {
      const consequence = this.#pair === undefined ? "waiting for one" : "the last valid one stays in service";
      log.warn(`Secret ${namespace}/${name} holds no certificate with its key: ${consequence}`);
      return;
    }
    if (pair.certificate.fingerprint === this.#pair?.certificate.fingerprint) return;
    this.#pair = pair;
    log.info(
      { notAfter: new Date(pair.certificate.notAfterMs) },
      `serving the certificate of Secret ${namespace}/${name}`,
    );
    this.notify();
  }
}
