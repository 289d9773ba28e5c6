import { landingOf, type NodeLanding } from "../../api/landing.ts";
import type { Node } from "../../kube/client/built-in-kinds.ts";
import { type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import { type Handler, Informer, type InformerOptions } from "../../kube/informer/informer.ts";
import { Demand } from "./demand.ts";

/** What is kept of a node. */
export type KnownNode = KubeObject & NodeLanding;

/** Whether VMs can land on nodes, from a watch that begins when somebody first asks about networks. */
export class KnownNodes {
  readonly #nodes: Informer<KnownNode>;
  readonly #demand = new Demand();

  constructor(options: Pick<InformerOptions<KnownNode>, "client" | "log" | "metrics" | "clock" | "random">) {
    const resource = RESOURCES.nodes as Resource as Resource<KnownNode>;
    this.#nodes = new Informer<KnownNode>({ ...options, resource, transform: slim });
  }

  need(): void {
    this.#demand.need();
  }

  /** Watches, once that is needed, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#demand.run((running) => this.#nodes.run(running), signal);
  }

  retryNow(relist: boolean): void {
    this.#nodes.retryNow(relist);
  }

  /** Resolves when the first list is known. Rejects when the signal aborts. */
  whenSynced(signal: AbortSignal): Promise<void> {
    return this.#nodes.whenSynced(signal);
  }

  get hasSynced(): boolean {
    return this.#nodes.hasSynced;
  }

  get(name: string): KnownNode | undefined {
    return this.#nodes.get(name);
  }

  on(handler: Handler<KnownNode>): () => void {
    return this.#nodes.on(handler);
  }
}

/** A node has 10 kB and more, most of it images. */
function slim(node: KubeObject): KnownNode {
  const { name, uid, resourceVersion } = node.metadata;
  return { metadata: { name, uid, resourceVersion }, ...landingOf(node as Node) };
}
