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
 * Where the pool's REST interface is. The user's token goes there, so the namespace is never a guess: whoever may make a namespace
 * and a Service of that name would get the token.
 */

export interface PoolPlace {
  readonly namespace: string;
  /** Authority of its certificate; undefined where the user named the namespace. */
  readonly ca?: string;
}

type WebhookConfiguration = KubeObject & {
  readonly webhooks?: readonly { readonly clientConfig: ClientConfig }[];
};

interface ClientConfig {
  readonly service?: { readonly namespace?: string };
  /** Base64. */
  readonly caBundle?: string;
}

const CONFIGURATIONS = RESOURCES.mutatingWebhookConfigurations as Resource<WebhookConfiguration>;

/** Path of the Service's proxy, without a slash at its end. */
export function proxyPath(namespace: string): string {
  const service = `https:${MAC_POOL_SERVICE}:${MAC_POOL_INSPECTION_PORT_NAME}`;
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/services/${service}/proxy`;
}

/** What the pool's webhook configuration says. Whoever may write that can stop every VM anyway. Throws `ServiceUnavailable`. */
export async function findPool(client: KubeClient, timeoutMs: number): Promise<PoolPlace> {
  const name = MAC_POOL_WEBHOOK_CONFIGURATION;
  const advice = "give --pool-namespace";
  try {
    const { webhooks = [] } = await client.get(CONFIGURATIONS, { name }, { timeoutMs });
    const { service, caBundle } = webhooks.find(({ clientConfig }) => clientConfig.service)?.clientConfig ?? {};
    if (service?.namespace !== undefined) {
      return { namespace: service.namespace, ...(caBundle ? { ca: Buffer.from(caBundle, "base64").toString() } : {}) };
    }
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
 * Whether the pool is shown a token; a certificate where there is none. Throws `ServiceUnavailable` where there is neither, and where the
 * credentials are used in the name of another user: the pool would answer with the rights of their owner.
 */
export async function hasToken(credentials: Credentials): Promise<boolean> {
  const { headers, tls } = await credentials.current();
  if (headers["impersonate-user"] !== undefined) {
    throw new ServiceUnavailable(
      "it knows the owner of a token or certificate, not the user of --as",
      "Ask without --as, or with a --token of that user.",
    );
  }
  if (/^bearer \S/i.test(headers.authorization ?? "")) return true;
  if (tls.cert !== undefined) return false;
  throw new ServiceUnavailable("there is no token and no client certificate to show it: give --token");
}
