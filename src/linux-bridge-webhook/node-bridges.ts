import type { Registry } from "prom-client";
import { NODE_MACS } from "../api/kinds.ts";
import { landingOf, type NodeLanding, type NodeWithBridge, nodesHaving } from "../api/landing.ts";
import type { NodeBridge, NodeMACs } from "../api/node-macs.ts";
import type { Node } from "../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type KubeObject, RESOURCES, type Resource } from "../kube/client/resource.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";
import type { NodesWith } from "../nad-lint/lint.ts";
import type { BridgeOnNode } from "../nad-lint/node-checks.ts";

type KnownNode = KubeObject & NodeLanding;

type Report = KubeObject & { readonly bridges: readonly NodeBridge[] };

/** Which nodes have a bridge and take VMs, and how it is set there, from watches. Nothing else of the nodes is kept. */
export class NodeBridges {
  readonly #informer: Informer<KnownNode>;
  readonly #reports: Informer<Report>;

  constructor(options: { readonly client: KubeClient; readonly log: Log; readonly metrics: Registry }) {
    this.#reports = new Informer<Report>({
      ...options,
      resource: NODE_MACS as Resource as Resource<Report>,
      absentIsEmpty: true,
      transform: settingsOnly,
      indexers: { bridge: ({ bridges }) => bridges.map(({ name }) => name) },
    });
    this.#informer = new Informer<KnownNode>({
      ...options,
      resource: RESOURCES.nodes as Resource as Resource<KnownNode>,
      transform: slim,
    });
  }

  /** Watches until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#informer.run(signal), this.#reports.run(signal)]);
  }

  /** Undefined until the nodes are known. */
  nodesWith(bridge: string): NodesWith | undefined {
    const total = this.#informer.hasSynced ? this.#informer.list().length : 0;
    return total === 0 ? undefined : { having: this.#having(bridge), total };
  }

  /** The nodes that say how it is set. Undefined until the nodes are known. */
  bridgesOn(bridge: string): readonly BridgeOnNode[] | undefined {
    if (!this.#informer.hasSynced || !this.#reports.hasSynced) return undefined;
    return this.#reports.byIndex("bridge", bridge).flatMap(({ metadata: { name: node = "" }, bridges }) => {
      const found = bridges.find(({ name }) => name === bridge);
      return found === undefined || this.#informer.get(node) === undefined ? [] : [{ node, ...found }];
    });
  }

  #having(bridge: string): NodeWithBridge[] {
    const nodes = this.#informer.list().map(({ metadata: { name = "" }, ...landing }) => ({ name, ...landing }));
    const reporting = this.#reports.byIndex("bridge", bridge).map(({ metadata: { name = "" } }) => name);
    return nodesHaving(bridge, nodes, new Set(reporting));
  }
}

function slim(node: KubeObject): KnownNode {
  const { name, uid, resourceVersion } = node.metadata;
  return { metadata: { name, uid, resourceVersion }, ...landingOf(node as Node) };
}

/** The addresses are none of the lint's business. */
function settingsOnly(report: KubeObject): Report {
  const { name, uid, resourceVersion } = report.metadata;
  return { metadata: { name, uid, resourceVersion }, bridges: (report as NodeMACs).bridges ?? [] };
}
