import type { Registry } from "prom-client";
import { BRIDGE_RESOURCE_PREFIX } from "../api/names.ts";
import type { Node } from "../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../kube/client/resource.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";

type NodeWithBridges = KubeObject & { readonly bridges: readonly string[] };

/** Which bridges each node publishes, from a watch. Nothing else of the nodes is kept. */
export class NodeBridges {
  readonly #informer: Informer<NodeWithBridges>;

  constructor(options: { readonly client: KubeClient; readonly log: Log; readonly metrics: Registry }) {
    this.#informer = new Informer<NodeWithBridges>({
      ...options,
      resource: RESOURCES.nodes as Resource as Resource<NodeWithBridges>,
      transform: bridgesOnly,
      indexers: { bridge: ({ bridges }) => bridges },
    });
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#informer.run(signal);
  }

  /** Undefined until the nodes are known. */
  nodesWith(bridge: string): { readonly count: number; readonly total: number } | undefined {
    const total = this.#informer.hasSynced ? this.#informer.list().length : 0;
    return total === 0 ? undefined : { count: this.#informer.byIndex("bridge", bridge).length, total };
  }
}

/** A kubelet that starts sets resources to 0 that it does not manage. */
function bridgesOnly(node: KubeObject): NodeWithBridges {
  const { name, uid, resourceVersion } = node.metadata;
  const bridges = Object.entries((node as Node).status?.capacity ?? {}).flatMap(([key, amount]) =>
    key.startsWith(BRIDGE_RESOURCE_PREFIX) && amount !== "0" ? [key.slice(BRIDGE_RESOURCE_PREFIX.length)] : [],
  );
  return { metadata: { name, uid, resourceVersion }, bridges };
}
