import type { SecureVersion } from "node:tls";
import type { ClientAuthority } from "./client-authority.ts";

export interface ServerCertificate {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
  readonly notAfterMs?: number;
  /** TLS 1.2 and later with the ciphers of the platform, unless given. */
  readonly limits?: TlsLimits;
  /** Anybody may connect unless given. */
  readonly clients?: ClientAuthority;
}

/** What a client must support. */
export interface TlsLimits {
  readonly minVersion: SecureVersion;
  /** OpenSSL's names, joined by colons. */
  readonly ciphers: string;
}

/** Where a server's certificate comes from. */
export interface CertificateSource {
  /** Undefined while there is no certificate: handshakes fail until there is one. */
  current(): ServerCertificate | undefined;
  /** Calls the listener after each change; the returned function ends that. */
  onChange(listener: () => void): () => void;
}
