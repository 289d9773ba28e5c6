/** The nodes of the cluster, by watch, with no more of their labels than somebody asks for. */

import type { Registry } from "prom-client";
import type { Node } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import { Informer } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import { isReady } from "../status/pod-trouble.ts";
import { isLaidOutLike, LAYOUT_LABELS } from "./node-layout.ts";
import { slimNode } from "./slim.ts";

export interface NodeViewOptions {
  readonly client: KubeClient;
  readonly log: Log;
  readonly metrics: Registry;
  /** Called on every change that may concern the operator. */
  readonly onChange: () => void;
}

interface Watched {
  readonly informer: Informer<Node>;
  /** Keys. */
  readonly labels: ReadonlySet<string>;
  readonly end: AbortController;
}

export class NodeView {
  readonly #options: NodeViewOptions;
  #watched: Watched;
  #signal: AbortSignal | undefined;

  constructor(options: NodeViewOptions) {
    this.#options = options;
    this.#watched = this.#watch([]);
  }

  get informer(): Informer<Node> {
    return this.#watched.informer;
  }

  start(signal: AbortSignal): void {
    this.#signal = signal;
    this.#begin(this.#watched);
  }

  list(): readonly Node[] {
    return this.informer.list();
  }

  /** Resolves when the nodes have these labels. Others than those at hand are listed anew. Call it once at a time. */
  async keepLabels(keys: readonly string[], signal: AbortSignal): Promise<void> {
    if (keys.every((key) => this.#watched.labels.has(key))) return;
    const next = this.#watch(keys);
    this.#begin(next);
    try {
      await next.informer.whenSynced(signal);
    } catch (error) {
      next.end.abort();
      throw error;
    }
    this.#watched.end.abort();
    this.#watched = next;
  }

  #begin({ informer, end }: Watched): void {
    if (this.#signal === undefined) throw new Error("The view of nodes was not started.");
    informer.start(AbortSignal.any([this.#signal, end.signal]));
  }

  #watch(keys: readonly string[]): Watched {
    const { onChange, ...reporting } = this.#options;
    const labels = new Set([...LAYOUT_LABELS, ...keys]);
    const transform = (node: Node): Node => slimNode(node, labels);
    const informer = new Informer({ ...reporting, resource: RESOURCES.nodes, transform });
    informer.on({
      add: onChange,
      update: (node, old) => {
        if (isReady(node) !== isReady(old) || !isLaidOutLike(node, old)) onChange();
      },
      delete: onChange,
    });
    return { informer, labels, end: new AbortController() };
  }
}
