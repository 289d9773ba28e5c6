import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";

/** A ConfigMap as the API server would show it. */
export function configMap(
  name: string,
  resourceVersion: string,
  extra: { uid?: string; data?: string } = {},
): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "default", name, uid: extra.uid ?? `uid-${name}`, resourceVersion },
    data: { value: extra.data ?? resourceVersion },
  };
}
