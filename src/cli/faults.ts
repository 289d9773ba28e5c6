import { MAC_POOL_GROUP } from "../api/names.ts";
import { ApiError, ConnectionError } from "../kube/client/api-error.ts";

/** A failure with a sentence for the user; exit code 2. */
export class CliError extends Error {
  override readonly name = "CliError";
}

/** Of a server that takes a connection, or swallows it, and says nothing. */
const SILENT = "ETIMEDOUT";

/** A role that is bound in a namespace does not reach objects of the cluster, as claims and pools are. */
const OWN_NAMESPACE =
  "For one namespace, write -n NAMESPACE --pool-namespace NAMESPACE; the pool's service needs the Role macpool-inspection of " +
  "docs/guide/for-vm-owners.md. For the whole cluster, ask for a ClusterRoleBinding to kubemacpool-view.";

/** What went wrong at the API server, in a sentence for the user; undefined for anything else. */
export function describeFault(error: unknown, server: string): string | undefined {
  if (error instanceof ConnectionError) {
    const { code = "" } = error;
    if (code === SILENT) {
      return `the API server ${server} does not answer in time: try again, or give it longer with --request-timeout`;
    }
    return `the API server ${server} can't be reached (${code || error.message}): is this the right kubeconfig?`;
  }
  if (!(error instanceof ApiError)) return undefined;
  const { status, details, message, request } = error;
  if (status === 404 && details === undefined && request.includes(MAC_POOL_GROUP)) {
    return "the cluster has no MAC pool: set kubeMacPool in NetworkAddonsConfig cluster";
  }
  if (status === 401) return "the API server does not know these credentials: log in again";
  if (status !== 403) return message;
  if (/ cannot impersonate/.test(message)) return `${message}: ask without --as`;
  return request.includes(MAC_POOL_GROUP)
    ? `${message}. ${OWN_NAMESPACE}`
    : `${message}: ask an administrator for that right`;
}

/** For what a cluster is asked about only where there is one. */
export function withoutKubeconfig(error: unknown): undefined {
  if (!(error instanceof CliError)) throw error;
}
