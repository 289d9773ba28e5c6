import type { TLSSocket } from "node:tls";
import { at, listAt, textAt } from "../json-path.ts";

/** Who asks, as the API server says in a TokenReview or an AdmissionReview. */
export interface User {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, string[]>>;
}

export function userOf(info: unknown): User {
  return {
    username: textAt(info, "username"),
    uid: textAt(info, "uid"),
    groups: listAt(info, "groups").filter((group): group is string => typeof group === "string"),
    extra: extraOf(info),
  };
}

function extraOf(info: unknown): Record<string, string[]> {
  const extra = at(info, "extra");
  if (typeof extra !== "object" || extra === null) return {};
  const keys = Object.keys(extra);
  return Object.fromEntries(keys.map((key) => [key, listAt(extra, key).map(String)]));
}

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
