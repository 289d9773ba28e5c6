import type { Registry } from "prom-client";
import { isNotFound } from "../kube/client/api-error.ts";
import type { Node } from "../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { RESOURCES } from "../kube/client/resource.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import { Controller } from "../kube/controller/controller.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";
import type { BridgeTable } from "./bridge-table.ts";
import { bridgeResources, type CapacityChange, ownCapacity, planCapacity } from "./node-resources.ts";

/** A storm of link events causes at most one patch in this time. */
export const MIN_PATCH_INTERVAL_MS = 200;

const FIELD_MANAGER = "bridge-marker";

export interface NodePublisherOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly bridges: BridgeTable;
  /** How often to compare without an event. */
  readonly updateIntervalMs: number;
  readonly log: Log;
  readonly metrics: Registry;
  readonly clock?: Clock;
  readonly onPatch?: (result: "success" | "error") => void;
}

/**
 * Keeps the node's resources equal to its bridges. It compares them after each change of the bridges (`changed()`) and
 * after each watched change of the node, and writes only the difference.
 */
export class NodePublisher {
  readonly #options: NodePublisherOptions;
  readonly #clock: Clock;
  readonly #controller: Controller;
  readonly #nodes: Informer<Node>;
  /** The answer to the last patch. It may be newer than the watch. */
  #patched: Node | undefined;
  #patchedAtMs = Number.NEGATIVE_INFINITY;
  #reportedIllegal = "";
  #published = false;
  /** Since when a change waits to be published. */
  #pendingSinceMs: number | undefined;

  constructor(options: NodePublisherOptions) {
    const { client, nodeName, log, metrics } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#nodes = new Informer<Node>({
      client,
      resource: RESOURCES.nodes,
      fieldSelector: `metadata.name=${nodeName}`,
      transform: withoutBallast,
      log,
      metrics,
    });
    this.#controller = new Controller({
      name: "bridge-marker",
      log,
      metrics,
      clock: this.#clock,
      reconcile: (_key, context) => this.#reconcile(context.signal),
    }).watch(this.#nodes);
  }

  /** Whether the node's resources were right once since the start. */
  get published(): boolean {
    return this.#published;
  }

  /** How long a change has waited to be published; 0 if none does. */
  get pendingMs(): number {
    return this.#pendingSinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#pendingSinceMs;
  }

  /** The bridges may have changed. */
  changed(): void {
    this.#pendingSinceMs ??= this.#clock.monotonicMs();
    this.#controller.enqueue(this.#options.nodeName);
  }

  /** Runs until the signal aborts. After that it writes nothing. */
  async run(signal: AbortSignal): Promise<void> {
    this.#nodes.start(signal);
    await this.#controller.run(signal);
  }

  /** Removes all our keys from the node, by a live read. Call it after `run`. */
  async withdraw(signal: AbortSignal): Promise<readonly string[]> {
    const { client, nodeName } = this.#options;
    try {
      const node = await client.get(RESOURCES.nodes, { name: nodeName }, { signal });
      const change = planCapacity(new Set(), node.status?.capacity ?? {});
      if (change === undefined) return [];
      await this.#patch(change, signal);
      return Object.keys(change);
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  async #reconcile(signal: AbortSignal): Promise<{ requeueAfterMs: number }> {
    const { bridges, nodeName, updateIntervalMs, log } = this.#options;
    const later = { requeueAfterMs: updateIntervalMs };
    if (!bridges.known) return later;
    const restMs = this.#patchedAtMs + MIN_PATCH_INTERVAL_MS - this.#clock.monotonicMs();
    if (restMs > 0) await this.#clock.sleep(restMs, signal);

    const node = newer(this.#nodes.get(nodeName), this.#patched);
    if (node === undefined) return later;
    const { keys, illegal } = bridgeResources(bridges.names());
    this.#reportIllegal(illegal);
    const change = planCapacity(keys, node.status?.capacity ?? {});
    if (change !== undefined) {
      this.#pendingSinceMs ??= this.#clock.monotonicMs();
      this.#patched = withoutBallast(await this.#patch(change, signal));
      log.info({ change }, "published the node's bridges");
    }
    this.#published = true;
    this.#pendingSinceMs = undefined;
    return later;
  }

  async #patch(change: CapacityChange, signal: AbortSignal): Promise<Node> {
    const { client, nodeName, onPatch } = this.#options;
    const patch = { type: "merge", body: { status: { capacity: change } } } as const;
    const options = { subresource: "status", fieldManager: FIELD_MANAGER, signal };
    this.#patchedAtMs = this.#clock.monotonicMs();
    try {
      const node = await client.patch(RESOURCES.nodes, { name: nodeName }, patch, options);
      onPatch?.("success");
      return node;
    } catch (error) {
      onPatch?.("error");
      throw error;
    }
  }

  #reportIllegal(illegal: readonly string[]): void {
    const text = illegal.join(", ");
    if (text === this.#reportedIllegal) return;
    this.#reportedIllegal = text;
    if (text !== "") {
      this.#options.log.warn(
        { bridges: illegal },
        `these bridges are not published, because their names are not legal resource names: ${text}. Use only letters, digits, - _ .`,
      );
    }
  }
}

/** A Node object has kilobytes (images, conditions). Only our keys matter here. */
function withoutBallast(node: Node): Node {
  const { name, uid, resourceVersion } = node.metadata;
  return { metadata: { name, uid, resourceVersion }, status: { capacity: ownCapacity(node.status?.capacity ?? {}) } };
}

/** The newer one of the watch's state and a patch's answer. Another UID is another node of the same name. */
function newer(watched: Node | undefined, patched: Node | undefined): Node | undefined {
  if (watched === undefined || patched === undefined || watched.metadata.uid !== patched.metadata.uid) return watched;
  return BigInt(patched.metadata.resourceVersion ?? 0) > BigInt(watched.metadata.resourceVersion ?? 0)
    ? patched
    : watched;
}
