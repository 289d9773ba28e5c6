/**
 * The pool's REST interface without the API server's proxy, which passes on tokens only: through a forwarded port of a replica, by
 * TLS with the user's client certificate.
 */
import type { Agent } from "node:http";
import { MAC_POOL_INSPECTION_PORT, MAC_POOL_SELECTOR, MAC_POOL_SERVICE } from "../../api/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { labelSelectorOf } from "../../kube/client/call-options.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { forwardPort } from "../../kube/client/port-forward.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import { type Credentials, madeOfTls } from "../../kube/credentials/credentials.ts";
import { overSockets } from "../../kube/credentials/tunnel.ts";
import { ServiceUnavailable } from "./pool-backend.ts";
import type { PoolPlace } from "./pool-service.ts";

/** The user's client certificate, for the replica that is Ready when a connection is made. Its certificate is the webhook's. */
export function certificateForReplica(own: Credentials, client: KubeClient, place: PoolPlace): Credentials {
  const { namespace, ca } = place;
  const tlsOf = madeOfTls(({ ca: _ca, servername: _servername, ...material }) => ({
    ...material,
    ...(ca === undefined ? {} : { ca }),
    rejectUnauthorized: ca !== undefined,
  }));
  const current = async () => ({ tls: tlsOf((await own.current()).tls), headers: {} });
  const proxied = (agent: Agent): Agent =>
    overSockets(agent, async ({ port }, ended) => {
      const pod = await readyReplica(client, namespace);
      try {
        return await forwardPort(own, { namespace, pod, port }, ended);
      } catch (error) {
        throw refusalOf(error, `forward a port to pod ${pod} in namespace ${namespace}`, namespace);
      }
    });
  const server = `https://${MAC_POOL_SERVICE}.${namespace}.svc:${MAC_POOL_INSPECTION_PORT}`;
  return { ...own, server, current, proxied };
}

/** Name of its pod. */
async function readyReplica(client: KubeClient, namespace: string): Promise<string> {
  const labelSelector = labelSelectorOf(MAC_POOL_SELECTOR);
  try {
    const { items } = await client.list(RESOURCES.pods, { namespace, labelSelector });
    const ready = items.find(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        status?.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True"),
    );
    if (ready?.metadata.name !== undefined) return ready.metadata.name;
  } catch (error) {
    throw refusalOf(error, `list pods in namespace ${namespace}`, namespace);
  }
  throw new ServiceUnavailable(`no pod of it in namespace ${namespace} is Ready`);
}

function refusalOf(error: unknown, what: string, namespace: string): unknown {
  if (!(error instanceof ApiError)) return error;
  if (error.status !== 403) return new ServiceUnavailable(`the API server does not ${what}: ${error.message}`);
  return new ServiceUnavailable(
    `the kubeconfig has a client certificate and no token, and you may not ${what}: give --token, for example ` +
      `--token $(kubectl -n ${namespace} create token ACCOUNT)`,
  );
}
