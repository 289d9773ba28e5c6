import { X509Certificate } from "node:crypto";
import { accessSync, constants } from "node:fs";
import type { Cluster, User } from "@kubernetes/client-node/dist/config_types.js";
import { parseProxy } from "./proxy-choice.ts";

/**
 * What is wrong with a kubeconfig, in one sentence: file, field, remedy. Fields are named as in the file, list entries
 * by their names: `users[admin].user.exec.command`.
 */

/** `name` is the file's path; `error` what reading or parsing it threw. */
export function unreadable(name: string, error: unknown): Error {
  const { code, message } = error as { code?: string; message: string };
  return new Error(`Kubeconfig ${name} ${READ_FAULTS[code ?? ""] ?? notValid(message)}`, { cause: error });
}

const READ_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist: set KUBECONFIG to the path of a kubeconfig.",
  EACCES: "may not be read by this user: change its mode or owner, or set KUBECONFIG to another file.",
  EISDIR: "is a directory: set KUBECONFIG to the file in it.",
};

function notValid(message: string): string {
  // The YAML parser draws the place under its sentence.
  return `is not valid: ${message.split("\n", 1)[0]?.trim()}. Correct that line or field, or get a new file.`;
}

/** Throws for a cluster that cannot be connected to. */
export function checkCluster(name: string, cluster: Cluster): void {
  const field = `${name}: clusters[${cluster.name}].cluster`;
  if (!/^https?:\/\/[^/]/.test(cluster.server) || !URL.canParse(cluster.server)) {
    throw new Error(`${field}.server "${cluster.server}" is not a URL: write it as https://HOST:PORT.`);
  }
  if (cluster.proxyUrl && parseProxy(cluster.proxyUrl) === undefined) {
    throw new Error(`${field}.proxy-url is not a URL of a proxy: write it as http://, https:// or socks5://HOST:PORT.`);
  }
  mustRead(`${field}.certificate-authority`, cluster.caFile);
}

/** Throws for a user whose files are missing. */
export function checkUser(name: string, user: User, tokenFile: string | undefined): void {
  const field = fieldOf(name, user);
  mustRead(`${field}.client-certificate`, user.certFile);
  mustRead(`${field}.client-key`, user.keyFile);
  mustRead(`${field}.tokenFile`, tokenFile);
}

/** Throws for a client certificate that no server would accept. A user may have none. */
export function checkCertificate(name: string, user: User, pem: string | Buffer | undefined, now: number): void {
  if (pem === undefined || user.exec) {
    return;
  }
  const field = `${fieldOf(name, user)}.${user.certFile ? "client-certificate" : "client-certificate-data"}`;
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch (cause) {
    throw new Error(`${field} is not a PEM certificate: get a new kubeconfig for this user.`, { cause });
  }
  if (Date.parse(certificate.validTo) <= now) {
    const end = new Date(certificate.validTo).toISOString();
    throw new Error(`${field} expired at ${end}: get a new certificate for this user.`);
  }
}

/** Why a user of the kubeconfig has no credentials: almost always its exec plugin. */
export function noCredentials(name: string, user: User | null, error: unknown): Error {
  const { code, message } = error as { code?: string; message: string };
  const reason = message.split("\n", 1)[0]?.trim();
  if (!user?.exec) {
    return new Error(`${user ? fieldOf(name, user) : name} gives no credentials: ${reason}. Correct it.`, {
      cause: error,
    });
  }
  const field = `${fieldOf(name, user)}.exec.command`;
  const { command } = user.exec as { command?: string };
  const hint = user.exec.installHint ? ` (${String(user.exec.installHint).trim().split("\n", 1)[0]})` : "";
  return new Error(
    code === "ENOENT"
      ? `${field} "${command}" was not found: install it${hint} or correct the path.`
      : `${field} "${command}" gave no credentials: ${reason}. Run it by hand to see why.`,
    { cause: error },
  );
}

function fieldOf(name: string, user: User): string {
  return `${name}: users[${user.name}].user`;
}

function mustRead(field: string, file: string | undefined): void {
  if (!file) {
    return;
  }
  try {
    accessSync(file, constants.R_OK);
  } catch (error) {
    const why = (error as { code?: string }).code === "EACCES" ? "may not be read by this user" : "does not exist";
    throw new Error(`${field} names ${file}, which ${why}: correct the path or put the file there.`, { cause: error });
  }
}
