import type { SecureVersion, TLSSocket } from "node:tls";
import { HttpError } from "./http-error.ts";

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

/** Who may connect: those with a certificate of this authority. */
export interface ClientAuthority {
  /** Certificates in PEM. */
  readonly ca: string;
  /** Common names that are accepted; any if empty. */
  readonly names: readonly string[];
  /** Whoever has no certificate of it may connect all the same. What it is good for is for the routes. */
  readonly isOptional?: boolean;
  /** Why it is not known whose certificates count. Nobody may connect then. */
  readonly problem?: string;
}

/** Why a connection does not belong to a client of the authority; undefined when it does, or need not. */
export function refusalOfClient(
  socket: TLSSocket,
  { names, isOptional, problem }: ClientAuthority,
): HttpError | undefined {
  if (isOptional === true) return undefined;
  if (problem !== undefined) return new HttpError(403, problem);
  const { subject } = socket.getPeerCertificate();
  if (subject === undefined) {
    return new HttpError(403, "this port serves the API server only: there is no client certificate");
  }
  if (!socket.authorized) {
    return new HttpError(403, `the client certificate is not accepted: ${String(socket.authorizationError)}`);
  }
  const name = String(subject.CN);
  if (names.length === 0 || names.includes(name)) return undefined;
  return new HttpError(403, `the client certificate is for ${JSON.stringify(name)}, which is not accepted here`);
}
