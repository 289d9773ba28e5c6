import type { TLSSocket } from "node:tls";
import type { User } from "./user.ts";

const AUTHENTICATED = "system:authenticated";

/**
 * The user of a client certificate, as the API server reads it: the common name, and organizations as groups. Undefined
 * without a certificate that the listener's authority has signed for clients.
 */
export function userOfCertificate(socket: Pick<TLSSocket, "authorized" | "getPeerCertificate">): User | undefined {
  if (!socket.authorized) return undefined;
  const { subject } = socket.getPeerCertificate();
  const name: unknown = subject?.CN;
  if (typeof name !== "string" || name === "") return undefined;
  const groups = [subject?.O ?? []].flat().filter((group) => group !== "");
  return { username: name, uid: "", groups: [...new Set([...groups, AUTHENTICATED])], extra: {} };
}
