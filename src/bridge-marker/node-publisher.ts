import type { Registry } from "prom-client";
import { ApiError, isConflict, isForbidden, isNotFound } from "../kube/client/api-error.ts";
import type { Node } from "../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { RESOURCES } from "../kube/client/resource.ts";
import { isOlder } from "../kube/client/resource-version.ts";
import { type Clock, systemClock } from "../kube/clock.ts";
import { type Backoff, backoffMs } from "../kube/informer/backoff.ts";
import { Controller } from "../kube/informer/controller.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Log } from "../kube/log.ts";
import { bridgeCapacity, type CapacityChange, planCapacity, type SkippedBridge } from "./bridge-resources.ts";
import type { NodeLinks } from "./node-links.ts";

/** A storm of link events causes at most one patch in this time. */
export const MIN_PATCH_INTERVAL_MS = 200;
/** One object is cheap to list: after each watch that breaks, because etcd may have been restored before the next one begins. */
const NODE_RULES = { maxWatchFailures: 1 };
/** Waits after patches that failed. Whatever happens meanwhile is in the next one. */
const RETRY: Backoff = { baseMs: 500, maxMs: 30_000 };

const FIELD_MANAGER = "bridge-marker";

export interface NodePublisherOptions {
  readonly client: KubeClient;
  readonly nodeName: string;
  readonly links: NodeLinks;
  /** How often to compare without an event. */
  readonly updateIntervalMs: number;
  readonly log: Log;
  readonly metrics: Registry;
  readonly observer?: PublisherObserver;
  readonly clock?: Clock;
  /** Called with the node's UID for each event of its watch. */
  readonly onNode?: (uid: string) => void;
  /** The node was listed: etcd may have lost what was written before. */
  readonly onListed?: () => void;
  readonly random?: () => number;
}

/** Called with what happens, for metrics. */
export interface PublisherObserver {
  patched(result: "success" | "error"): void;
  /** The node's resources are right. `lagMs`: since the link event that made the last patch necessary, if one did. */
  published(lagMs: number | undefined): void;
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
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #reportedIllegal = "";
  #published = false;
  /** Why the node's resources can't be right. */
  #problem: string | undefined;
  /** Since when a change of the bridges waits for a patch. */
  #changedAtMs: number | undefined;
  /** Since when a patch is tried, or its oldest change has waited. */
  #patchingSinceMs: number | undefined;
  /** When the API server answered the last patch, whatever it said. */
  #answeredAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: NodePublisherOptions) {
    const { client, nodeName, log, metrics } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#nodes = new Informer<Node>({
      client,
      resource: RESOURCES.nodes,
      fieldSelector: `metadata.name=${nodeName}`,
      transform: slimNode,
      rules: NODE_RULES,
      log,
      metrics,
      clock: this.#clock,
    });
    const seen = ({ metadata: { uid = "" } }: Node): void => options.onNode?.(uid);
    this.#nodes.on({ add: seen, update: seen, onRelist: () => options.onListed?.() });
    this.#controller = new Controller({
      name: "bridge-marker",
      log,
      metrics,
      clock: this.#clock,
      reconcile: (_key, context) => this.#reconcile(context.signal),
    }).watch(this.#nodes);
  }

  /** True once the node's resources were right and the last patch did not fail; a sentence says what is missing. */
  get readiness(): true | string {
    const { links, nodeName } = this.#options;
    if (this.#problem !== undefined) return this.#problem;
    if (this.#published) return true;
    if (!links.known) return "the node's bridges are not known yet: its list of links is not complete";
    if (!this.#nodes.hasSynced) return `Node ${nodeName} was not read from the API server yet`;
    return "the node's bridges have not been published yet";
  }

  /** How long a change has waited to be published; 0 if none does. */
  get pendingMs(): number {
    const sinceMs = this.#patchingSinceMs ?? this.#changedAtMs;
    return sinceMs === undefined ? 0 : this.#clock.monotonicMs() - sinceMs;
  }

  /** How long the API server has answered neither the watch of the node nor the patch of a change. A refusal is an answer. */
  get unansweredMs(): number {
    const patchMs = Math.min(this.pendingMs, this.#clock.monotonicMs() - this.#answeredAtMs);
    return Math.max(patchMs, this.#nodes.silentMs);
  }

  /** The bridges may have changed. */
  changed(): void {
    this.#changedAtMs ??= this.#clock.monotonicMs();
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
    const { links, nodeName, updateIntervalMs, observer, log } = this.#options;
    const later = { requeueAfterMs: updateIntervalMs };
    if (!links.known) return later;
    const restMs = this.#notBeforeMs - this.#clock.monotonicMs();
    if (restMs > 0) await this.#clock.sleep(restMs, signal);

    const node = this.#node();
    if (node === undefined) {
      this.#problem = `Node ${nodeName} does not exist, so its bridges are not published`;
      this.#clearPending();
      return later;
    }
    const { keys, skipped } = links.resources();
    this.#reportIllegal(skipped);
    const change = planCapacity(keys, node.status?.capacity ?? {});
    if (change === undefined) {
      this.#clearPending();
      this.#succeeded();
      observer?.published(undefined);
      return later;
    }
    // What changes from here on is not in this patch.
    const changedAtMs = this.#changedAtMs;
    this.#changedAtMs = undefined;
    this.#patchingSinceMs ??= changedAtMs ?? this.#clock.monotonicMs();
    try {
      this.#patched = slimNode(await this.#patch(change, signal));
    } catch (error) {
      signal.throwIfAborted();
      this.#changedAtMs = changedAtMs ?? this.#changedAtMs;
      return { requeueAfterMs: this.#failed(error) };
    }
    log.info({ change }, "published the node's bridges");
    this.#patchingSinceMs = undefined;
    this.#succeeded();
    observer?.published(changedAtMs === undefined ? undefined : this.#clock.monotonicMs() - changedAtMs);
    return later;
  }

  /** The answer to the last patch, until the watch has reached it. Another UID is another node of the same name. */
  #node(): Node | undefined {
    const [watched, patched] = [this.#nodes.get(this.#options.nodeName), this.#patched];
    if (watched === undefined || patched === undefined || watched.metadata.uid !== patched.metadata.uid) return watched;
    return isOlder({ resourceVersion: this.#nodes.reached }, patched.metadata) ? patched : watched;
  }

  async #patch(change: CapacityChange, signal: AbortSignal): Promise<Node> {
    const { client, nodeName, observer } = this.#options;
    const patch = { type: "merge", body: { status: { capacity: change } } } as const;
    const options = { subresource: "status", fieldManager: FIELD_MANAGER, signal };
    this.#notBeforeMs = this.#clock.monotonicMs() + MIN_PATCH_INTERVAL_MS;
    try {
      const node = await client.patch(RESOURCES.nodes, { name: nodeName }, patch, options);
      observer?.patched("success");
      this.#answeredAtMs = this.#clock.monotonicMs();
      return node;
    } catch (error) {
      observer?.patched("error");
      if (isAnswer(error)) this.#answeredAtMs = this.#clock.monotonicMs();
      throw error;
    }
  }

  /** After how long to try again. The log says each problem once, not each failure. */
  #failed(error: unknown): number {
    const { nodeName, log, random = Math.random } = this.#options;
    const problem = publishFailure(nodeName, error);
    if (problem !== this.#problem) log.error({ err: error }, problem);
    this.#problem = problem;
    const waitMs = backoffMs(RETRY, ++this.#failures, random);
    this.#notBeforeMs = this.#clock.monotonicMs() + waitMs;
    return waitMs;
  }

  #succeeded(): void {
    const { nodeName, log } = this.#options;
    const failures = this.#failures;
    if (failures > 0) log.info({ failures }, `the bridges of Node ${nodeName} are published again`);
    this.#failures = 0;
    this.#problem = undefined;
    this.#published = true;
  }

  #clearPending(): void {
    this.#changedAtMs = undefined;
    this.#patchingSinceMs = undefined;
  }

  #reportIllegal(skipped: readonly SkippedBridge[]): void {
    const illegal = skipped.filter(({ reason }) => reason === "illegal-name").map(({ name }) => name);
    const text = illegal.join(", ");
    if (text === this.#reportedIllegal) return;
    this.#reportedIllegal = text;
    if (text !== "") {
      this.#options.log.warn(
        { bridges: illegal },
        `these bridges are not published, because their names are not legal resource names: ${text}. Use only letters, ` +
          "digits, - _ . with a letter or digit at both ends, or exclude them (markerExclude)",
      );
    }
  }
}

/** A Node object has kilobytes (images, conditions). Only our keys matter here. */
function slimNode(node: Node): Node {
  const { name, uid, resourceVersion } = node.metadata;
  return {
    metadata: { name, uid, resourceVersion },
    status: { capacity: bridgeCapacity(node.status?.capacity ?? {}) },
  };
}

/** Why the node's status can't be written, in one sentence: what, where, why and what to do. */
export function publishFailure(nodeName: string, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return `the bridges of Node ${nodeName} can't be published: ${reason.replace(/\.$/, "")}. ${adviceFor(error)}`;
}

function adviceFor(error: unknown): string {
  if (isForbidden(error)) {
    return "Restore the ClusterRole bridge-marker-cr, or change the admission policy or webhook that refuses the patch";
  }
  if (isConflict(error)) return "Somebody else writes this Node all the time; it is tried again";
  if (isAnswer(error)) return "Correct what the API server refuses; it is tried again";
  return "Look at the API server and the way to it; it is tried again";
}

/** Whether the API server works and said no. Then a restart of this process would not help. */
export function isAnswer(error: unknown): boolean {
  return error instanceof ApiError && error.status < 500 && error.status !== 429;
}
