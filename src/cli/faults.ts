import { MAC_POOL_GROUP, MAC_POOL_INSPECTION_PORT_NAME, MAC_POOL_SERVICE } from "../api/names.ts";
import { ApiError, ConnectionError, isForbidden } from "../kube/client/api-error.ts";

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

const PROXY = `https:${MAC_POOL_SERVICE}:${MAC_POOL_INSPECTION_PORT_NAME}`;

/** `namespace`: of the pool. The commands have the long form of -n, so that nobody adds options of this command line to them. */
export function roleMissing(namespace: string): string {
  const create = `kubectl --namespace ${namespace} create`;
  return `you may not ask the MAC pool, because you have no Role macpool-inspection in namespace ${namespace}. An administrator gives it to all users with
  ${create} role macpool-inspection --verb=get --resource=services/proxy --resource-name=${PROXY}
  ${create} rolebinding macpool-inspection --role=macpool-inspection --group=system:authenticated`;
}

/** Whether the user may not read claims or pools in the cluster. */
export function isForbiddenPool(error: unknown): error is ApiError {
  return isForbidden(error) && error.request.includes(MAC_POOL_GROUP) && !IMPERSONATION.test(error.message);
}

const IMPERSONATION = / cannot impersonate/;

/** The pool's service can't be asked, and its objects are not for the user. */
export function neitherAnswers(
  { message, advice }: { readonly message: string; readonly advice: string },
  error: ApiError,
): string {
  const isPlace = message.includes("--pool-namespace");
  return `the MAC pool's service can't be asked: ${message}. Nor may you read its objects: ${error.message}. ${isPlace ? OWN_NAMESPACE : advice}`;
}

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
  if (IMPERSONATION.test(message)) return `${message}: ask without --as`;
  return request.includes(MAC_POOL_GROUP)
    ? `${message}. ${OWN_NAMESPACE}`
    : `${message}: ask an administrator for that right`;
}

/** For what a cluster is asked about only where there is one. */
export function withoutKubeconfig(error: unknown): undefined {
  if (!(error instanceof CliError)) throw error;
}
