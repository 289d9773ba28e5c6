/** A certificate that signs itself, for a listener whose clients do not know any authority. */
import { generateKeyPairSync } from "node:crypto";
import { type Clock, systemClock } from "../kube/clock.ts";
import type { CertificateSource, ServerCertificate } from "../kube/server/certificate-source.ts";
import { commonName, dnsNames, serverUsage, signCertificate } from "./signed-certificate.ts";

const LIFETIME_MS = 7 * 24 * 3_600_000;
const RENEW_AFTER_MS = LIFETIME_MS / 2;

/** A certificate in memory that signs itself. It is renewed long before it expires. */
export class SelfSignedTlsSource implements CertificateSource {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #certificate: ServerCertificate;

  constructor(name: string, clock: Clock = systemClock) {
    this.#name = name;
    this.#clock = clock;
    this.#certificate = this.#issue();
  }

  current(): ServerCertificate {
    return this.#certificate;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Renews until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(RENEW_AFTER_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      this.#certificate = this.#issue();
      for (const listener of this.#listeners) listener();
    }
  }

  #issue(): ServerCertificate {
    return selfSigned({ name: this.#name, nowMs: this.#clock.now(), lifetimeMs: LIFETIME_MS });
  }
}

export interface SelfSignedRequest {
  readonly name: string;
  readonly nowMs: number;
  readonly lifetimeMs: number;
}

export function selfSigned({ name, nowMs, lifetimeMs }: SelfSignedRequest): ServerCertificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const subject = commonName(name);
  const notAfterMs = nowMs + lifetimeMs;
  const extensions = [dnsNames([name]), serverUsage()];
  const cert = signCertificate({ subject, issuer: subject, publicKey, nowMs, notAfterMs, extensions }, privateKey);
  return { cert, key: privateKey.export({ type: "pkcs8", format: "pem" }), notAfterMs };
}
