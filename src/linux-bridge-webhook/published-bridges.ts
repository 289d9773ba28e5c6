import type { Registry } from "prom-client";
import { bridgesOfCapacity } from "../api/bridge-resource.ts";
import { NODE_MACS } from "../api/kinds.ts";
import type { NodeBridge, NodeMACs } from "../api/node-macs.ts";
import type { Node } from "../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../kube/client/resource.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";
import type { BridgeOnNode } from "../nad-lint/node-checks.ts";

type NodeWithBridges = KubeObject & { readonly bridges: readonly string[] };

type Report = KubeObject & { readonly bridges: readonly NodeBridge[] };

/** Which bridges each node publishes, and how they are set, from watches. Nothing else of the nodes is kept. */
export class PublishedBridges {
  readonly #informer: Informer<NodeWithBridges>;
  readonly #reports: Informer<Report>;

  constructor(options: { readonly client: KubeClient; readonly log: Log; readonly metrics: Registry }) {
    this.#reports = new Informer<Report>({
      ...options,
      resource: NODE_MACS as Resource as Resource<Report>,
      absentIsEmpty: true,
      transform: settingsOnly,
      indexers: { bridge: ({ bridges }) => bridges.map(({ name }) => name) },
    });
    this.#informer = new Informer<NodeWithBridges>({
      ...options,
      resource: RESOURCES.nodes as Resource as Resource<NodeWithBridges>,
      transform: bridgesOnly,
      indexers: { bridge: ({ bridges }) => bridges },
    });
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#informer.run(signal), this.#reports.run(signal)]);
  }

  /** Undefined until the nodes are known. */
  nodesWith(bridge: string): { readonly count: number; readonly total: number } | undefined {
    const total = this.#informer.hasSynced ? this.#informer.list().length : 0;
    return total === 0 ? undefined : { count: this.#informer.byIndex("bridge", bridge).length, total };
  }

  /** The nodes that publish the bridge and say how it is set. Undefined until the nodes are known. */
  bridgesOn(bridge: string): readonly BridgeOnNode[] | undefined {
    if (!this.#informer.hasSynced || !this.#reports.hasSynced) return undefined;
    const publishing = new Set(this.#informer.byIndex("bridge", bridge).map(({ metadata }) => metadata.name));
    return this.#reports.byIndex("bridge", bridge).flatMap(({ metadata: { name: node = "" }, bridges }) => {
      const found = bridges.find(({ name }) => name === bridge);
      return found === undefined || !publishing.has(node) ? [] : [{ node, ...found }];
    });
  }
}

function bridgesOnly(node: KubeObject): NodeWithBridges {
  const { name, uid, resourceVersion } = node.metadata;
  return { metadata: { name, uid, resourceVersion }, bridges: bridgesOfCapacity((node as Node).status?.capacity) };
}

/** The addresses are none of the lint's business. */
function settingsOnly(report: KubeObject): Report {
  const { name, uid, resourceVersion } = report.metadata;
  return { metadata: { name, uid, resourceVersion }, bridges: (report as NodeMACs).bridges ?? [] };
}
