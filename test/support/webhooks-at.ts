import type { KubeObject } from "../../src/kube/client/resource.ts";

/** A webhook configuration that the operator renders, at an address in the place of the Service. `authority`: PEM. */
export function webhooksAt(rendered: KubeObject, url: string, authority: string): KubeObject {
  const { webhooks, ...rest } = rendered as KubeObject & {
    readonly webhooks: readonly { readonly clientConfig: { readonly service: { readonly path: string } } }[];
  };
  const moved = webhooks.map((webhook) => ({
    ...webhook,
    clientConfig: { url: `${url}${webhook.clientConfig.service.path}`, caBundle: btoa(authority) },
  }));
  return { ...rest, webhooks: moved } as KubeObject;
}
