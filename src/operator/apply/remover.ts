/**
 * Removes objects that are no longer wanted, in stages: webhook configurations, then workloads. What the workloads'
 * shutdown needs goes after their last pod. An unfinished removal is retried, because the inventory remembers it.
 */

import { isForbidden, isNotFound } from "../../kube/client/api-error.ts";
import type { Pod } from "../../kube/client/built-in-kinds.ts";
import { labelSelectorOf } from "../../kube/client/call-options.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { RESOURCES } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import type { ClusterView } from "../watch/cluster-view.ts";
import { appliedKind, findAppliedKind } from "./applied-kinds.ts";
import { inParallel, messageOf } from "./applier.ts";
import type { Inventory, InventoryEntry } from "./inventory.ts";
import { removals } from "./plan.ts";
import type { RepairBackoff } from "./repair-backoff.ts";

export interface RemovalResult {
  /** Keys of objects that are gone, are never removed, or stay because only a newer version knows them. */
  readonly gone: ReadonlySet<string>;
  /** Components that are still being removed, with what they wait for. */
  readonly waiting: ReadonlyMap<string, string>;
  readonly failures: readonly string[];
}

export interface RemoverOptions {
  readonly client: KubeClient;
  readonly view: ClusterView;
  readonly backoff: RepairBackoff;
  readonly clock: Clock;
  readonly log: Log;
  /** Keys of every object that this version can apply: it has the rights for these, and for no others. */
  readonly known: ReadonlySet<string>;
}

/** A pod on a dead node can stay for ever. The remover waits for its grace period plus this time. */
const STUCK_POD_MS = 60_000;

export class Remover {
  readonly #client: KubeClient;
  readonly #view: ClusterView;
  readonly #backoff: RepairBackoff;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #known: ReadonlySet<string>;
  /** Keys of deleted workloads whose pods are still stopping. */
  readonly #deleted = new Set<string>();

  constructor(options: RemoverOptions) {
    this.#client = options.client;
    this.#view = options.view;
    this.#backoff = options.backoff;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#known = options.known;
  }

  async remove(inventory: Inventory, wanted: ReadonlySet<string>, signal: AbortSignal): Promise<RemovalResult> {
    const gone = new Set<string>();
    const waiting = new Map<string, string>();
    const failures: string[] = [];
    for (const [key, entry] of inventory) {
      if (wanted.has(key)) continue;
      this.#backoff.forget(key);
      if (findAppliedKind(entry)?.removal === undefined) gone.add(key);
    }
    // A component with stopping pods keeps its rights. Other components do not wait for it.
    for (const { entries } of removals(inventory, wanted)) {
      const stoppedBefore = new Set(waiting.keys());
      await inParallel(entries, async ({ key, entry }) => {
        if (stoppedBefore.has(entry.component)) return;
        try {
          const reason = await this.#remove(key, entry, signal);
          if (reason === undefined) gone.add(key);
          else waiting.set(entry.component, reason);
        } catch (error) {
          signal.throwIfAborted();
          if (isForbidden(error) && !this.#known.has(key)) {
            this.#log.warn({ err: error }, `${describe(entry)} of a newer version stays: delete it by hand`);
            gone.add(key);
            return;
          }
          failures.push(`${describe(entry)} could not be deleted: ${messageOf(error)}`);
          waiting.set(entry.component, `${describe(entry)} could not be deleted`);
        }
      });
    }
    return { gone, waiting, failures };
  }

  /** Undefined once it is gone, otherwise what the removal waits for. */
  async #remove(key: string, entry: InventoryEntry, signal: AbortSignal): Promise<string | undefined> {
    if (!this.#deleted.has(key) || this.#view.live(entry) !== undefined) {
      this.#log.info({ object: describe(entry) }, "removing");
      await this.#delete(entry, signal);
      this.#deleted.add(key);
      this.#backoff.deleted(key);
    }
    const waiting = entry.podSelector && (await this.#podsLeft(entry, entry.podSelector, signal));
    if (waiting === undefined) this.#deleted.delete(key);
    return waiting;
  }

  async #delete(entry: InventoryEntry, signal: AbortSignal): Promise<void> {
    try {
      const ref = { name: entry.name, namespace: entry.namespace };
      await this.#client.delete(appliedKind(entry).resource, ref, { propagationPolicy: "Background", signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#view.forget(entry);
  }

  async #podsLeft(
    entry: InventoryEntry,
    selector: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const labelSelector = labelSelectorOf(selector);
    const { items } = await this.#client.list(RESOURCES.pods, { namespace: entry.namespace, labelSelector, signal });
    const left = items.filter((pod) => isStopping(pod, entry) && !this.#isStuck(pod));
    if (left.length === 0) return undefined;
    return `${left.length} pods of ${describe(entry)} are still stopping`;
  }

  #isStuck(pod: Pod): boolean {
    const { deletionTimestamp } = pod.metadata;
    return deletionTimestamp !== undefined && Date.parse(deletionTimestamp) + STUCK_POD_MS < this.#clock.now();
  }
}

/** A pod that merely has the same labels is somebody else's: nobody stops it, so nothing waits for it. */
function isStopping({ metadata }: Pod, { kind, name }: InventoryEntry): boolean {
  const hash = metadata.labels?.["pod-template-hash"];
  const owner = kind === "Deployment" ? { kind: "ReplicaSet", name: `${name}-${hash}` } : { kind, name };
  const isOwned = (metadata.ownerReferences ?? []).some((one) => one.kind === owner.kind && one.name === owner.name);
  return isOwned || metadata.deletionTimestamp !== undefined;
}

function describe(entry: InventoryEntry): string {
  return `${entry.kind} ${entry.namespace === undefined ? entry.name : `${entry.namespace}/${entry.name}`}`;
}
