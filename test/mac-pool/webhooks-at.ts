import type { KubeObject } from "../../src/kube/client/resource.ts";
import { macPoolWebhooks } from "../../src/operator/components/kube-mac-pool-webhooks.ts";

/** The webhooks that the operator renders, at an address in the place of the Service. `authority`: PEM. */
export function webhooksAt(url: string, namespace: string, authority: string): KubeObject {
  const rendered = macPoolWebhooks(namespace, {}) as KubeObject & {
    readonly webhooks: readonly { readonly clientConfig: { readonly service: { readonly path: string } } }[];
  };
  const webhooks = rendered.webhooks.map((webhook) => ({
    ...webhook,
    clientConfig: { url: `${url}${webhook.clientConfig.service.path}`, caBundle: btoa(authority) },
  }));
  return { ...rendered, webhooks } as KubeObject;
}
