import type { TLSSocket } from "node:tls";
import { HttpError } from "./http-error.ts";

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
