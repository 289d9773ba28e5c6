/** Where the API servers listen, by watch. They keep the EndpointSlice themselves, in the namespace `default`. */

import type { Registry } from "prom-client";
import type { EndpointSlice } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";

export interface ApiServersOptions {
  readonly client: KubeClient;
  readonly onChange: () => void;
  readonly log: Log;
  readonly metrics: Registry;
}

export const API_SERVER_SLICE = "kubernetes";
const NAMESPACE = "default";

export class ApiServers {
  readonly informer: Informer<EndpointSlice>;

  constructor({ onChange, ...reporting }: ApiServersOptions) {
    this.informer = new Informer({
      ...reporting,
      resource: RESOURCES.endpointSlices,
      namespace: NAMESPACE,
      fieldSelector: `metadata.name=${API_SERVER_SLICE}`,
    });
    this.informer.on({ add: onChange, update: onChange, delete: onChange });
  }

  /** In order, each once. */
  ports(): number[] {
    const ports = this.informer.list().flatMap((slice) => (slice.ports ?? []).flatMap(({ port }) => port ?? []));
    return [...new Set(ports)].sort((a, b) => a - b);
  }
}
