import {
  MAC_POOL_INSPECTION_PORT_NAME,
  MAC_POOL_SERVICE,
  MAC_POOL_TOKEN_HEADER,
  MAC_POOL_WEBHOOK_CONFIGURATION,
} from "../../api/names.ts";
import { isForbidden, isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import type { Credentials } from "../../kube/credentials/credentials.ts";
import { ServiceUnavailable } from "./pool-backend.ts";

/**
 * Where the API server's proxy leads to the pool's REST interface. The user's token goes there, so the namespace is never a
 * guess: whoever may make a namespace and a Service of that name would get the token.
 */

type WebhookConfiguration = KubeObject & {
  readonly webhooks?: readonly { readonly clientConfig: { readonly service?: { readonly namespace?: string } } }[];
};

const CONFIGURATIONS = RESOURCES.mutatingWebhookConfigurations as Resource<WebhookConfiguration>;

/** Path of the Service's proxy, without a slash at its end. */
export function proxyPath(namespace: string): string {
  const service = `https:${MAC_POOL_SERVICE}:${MAC_POOL_INSPECTION_PORT_NAME}`;
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${service}/proxy`;
}

/** The namespace in the pool's webhook configuration. Whoever may write that can stop every VM anyway. Throws `ServiceUnavailable`. */
export async function findPoolNamespace(client: KubeClient, timeoutMs: number): Promise<string> {
  const name = MAC_POOL_WEBHOOK_CONFIGURATION;
  const advice = "give --pool-namespace";
  try {
    const { webhooks = [] } = await client.get(CONFIGURATIONS, { name }, { timeoutMs });
    const namespace = webhooks.find(({ clientConfig }) => clientConfig.service)?.clientConfig.service?.namespace;
    if (namespace !== undefined) return namespace;
    throw new ServiceUnavailable(`MutatingWebhookConfiguration ${name} leads to no Service: ${advice}`);
  } catch (error) {
    if (isForbidden(error)) {
      throw new ServiceUnavailable(
        `you may not read MutatingWebhookConfiguration ${name}, which says where it is: ${advice}`,
      );
    }
    if (isNotFound(error)) {
      throw new ServiceUnavailable(
        `there is no MutatingWebhookConfiguration ${name}, which says where it is: ${advice}`,
      );
    }
    throw error;
  }
}

/** The user's credentials for calls to the pool: the API server keeps `authorization` to itself. */
export function withPoolToken(own: Credentials): Credentials {
  const current = async () => {
    const now = await own.current();
    const { authorization = "" } = now.headers;
    return { ...now, headers: { ...now.headers, [MAC_POOL_TOKEN_HEADER]: authorization } };
  };
  return { ...own, current };
}

/**
 * `Bearer ...`, as the pool can check it. Throws `ServiceUnavailable` where the credentials have none, or are used in the name of
 * another user: the pool would answer with the rights of the token's owner.
 */
export async function bearerOf(credentials: Credentials): Promise<string> {
  const { headers } = await credentials.current();
  if (headers["impersonate-user"] !== undefined) {
    throw new ServiceUnavailable(
      "it knows the owner of a token, not the user of --as",
      "Ask without --as, or with a --token of that user.",
    );
  }
  const { authorization = "" } = headers;
  if (/^bearer \S/i.test(authorization)) return authorization;
  throw new ServiceUnavailable(
    "the kubeconfig has a client certificate and no token, and the API server's proxy passes on tokens only: give --token",
  );
}
