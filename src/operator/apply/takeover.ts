/**
 * Takes over what a predecessor left under the names that the operator uses, so that somebody answers all the time: pods are
 * replaced one after another, and the predecessor's webhooks stay until the new pods serve ours.
 */

import { isNotFound } from "../../kube/client/api-error.ts";
import type { Deployment } from "../../kube/client/built-in-kinds.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Log } from "../../kube/log.ts";
import type { ClusterView } from "../watch/cluster-view.ts";
import { appliedKind, isWorkload } from "./applied-kinds.ts";
import { changedField } from "./drift.ts";
import type { DriftRepair } from "./drift-repair.ts";
import { type Inventory, identityOf, nameOf, refOf } from "./inventory.ts";
import type { PlannedObject } from "./plan.ts";
import { isAppliedByUs } from "./repair-backoff.ts";

export interface TakeoverOptions {
  readonly client: KubeClient;
  readonly view: ClusterView;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long one pass waits for a deletion, and all of them. */
const WAIT_MS = 2_000;
const DELETED_WITHIN_MS = 30_000;
const POLL_MS = 50;

export class Takeover {
  readonly #options: TakeoverOptions;
  readonly #driftRepair: DriftRepair;

  constructor(options: TakeoverOptions, driftRepair: DriftRepair) {
    this.#options = options;
    this.#driftRepair = driftRepair;
  }

  /**
   * Makes a workload ours that somebody else created: after an apply alone it would keep the other's sidecars, arguments and
   * volumes. What we applied before is ours, whatever happened to it and to the inventory since. True: it can be applied now;
   * false: the other's is still being deleted.
   */
  async workload(wanted: PlannedObject, inventory: Inventory, signal: AbortSignal): Promise<boolean> {
    if (!isWorkload(wanted.object)) return true;
    const live = await this.#left(wanted, inventory, signal);
    if (live === undefined || changedField(live, wanted.object) === undefined) return true;
    if (live.metadata.deletionTimestamp === undefined) {
      this.#options.log.info({ object: wanted.key }, "taking over what another product or version created");
    }
    if (selectorOf(live) !== selectorOf(wanted.object)) return await this.#makeRoom(wanted.object, live, signal);
    await this.#driftRepair.replace(wanted, live, signal);
    return true;
  }

  /** One sentence for each predecessor's webhook configuration that has to stay for now. */
  async webhooksToKeep(
    objects: readonly PlannedObject[],
    inventory: Inventory,
    signal: AbortSignal,
  ): Promise<string[]> {
    const kept: string[] = [];
    const isServed = objects.every(({ object }) => object.kind !== "Deployment" || this.#isRolledOut(object));
    for (const wanted of objects) {
      if (isServed || appliedKind(wanted.object).stage !== "webhooks") continue;
      if ((await this.#left(wanted, inventory, signal)) !== undefined) {
        kept.push(`${nameOf(wanted.object)} stays as it was found until the new pods serve`);
      }
    }
    return kept;
  }

  /** The object that somebody else created. */
  async #left({ object, key }: PlannedObject, inventory: Inventory, signal: AbortSignal) {
    if (inventory.get(key)?.fingerprint !== undefined) return undefined;
    // The view has only objects with our labels, and without their managers.
    const live = await this.#get(object, signal);
    return live === undefined || isAppliedByUs(live) ? undefined : live;
  }

  /** Pods that the new workload selects too stay: it adopts them, and replaces them as its own. Others go. */
  async #makeRoom(object: KubeObject, live: KubeObject, signal: AbortSignal): Promise<boolean> {
    const { client, view, clock } = this.#options;
    const propagationPolicy = selects(object, live) ? "Orphan" : "Background";
    const options = { propagationPolicy, uid: live.metadata.uid, signal } as const;
    if (live.metadata.deletionTimestamp === undefined) {
      await client.delete(appliedKind(object).resource, refOf(object), options);
    }
    const deadline = clock.monotonicMs() + WAIT_MS;
    while ((await this.#get(object, signal))?.metadata.uid === live.metadata.uid) {
      const { deletionTimestamp = "" } = live.metadata;
      if (clock.now() - Date.parse(deletionTimestamp) > DELETED_WITHIN_MS) {
        throw new Error("the one that was found has another selector and is still being deleted");
      }
      if (clock.monotonicMs() > deadline) return false;
      await clock.sleep(POLL_MS, signal);
    }
    view.forget(identityOf(object));
    return true;
  }

  /** No pod of the predecessor is left, and one of ours serves. */
  #isRolledOut(object: KubeObject): boolean {
    const live = this.#options.view.live(identityOf(object)) as Deployment | undefined;
    const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = live?.status ?? {};
    const isSeen = observedGeneration >= (live?.metadata.generation ?? 0);
    return isSeen && replicas === updatedReplicas && availableReplicas > 0;
  }

  async #get(object: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.#options.client.get(appliedKind(object).resource, refOf(object), { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

function selectorOf({ spec }: KubeObject): string {
  const { matchLabels = {}, ...others } = (spec as Selecting | undefined)?.selector ?? {};
  return JSON.stringify([Object.entries(matchLabels).sort(), others]);
}

/** Whether the selector of the one finds the pods of the other. */
function selects({ spec }: KubeObject, other: KubeObject): boolean {
  const wanted = Object.entries((spec as Selecting | undefined)?.selector?.matchLabels ?? {});
  const labels = (other.spec as Selecting | undefined)?.template?.metadata?.labels ?? {};
  return wanted.every(([key, value]) => labels[key] === value);
}

interface Selecting {
  readonly selector?: { readonly matchLabels?: Labels };
  readonly template?: { readonly metadata?: { readonly labels?: Labels } };
}

type Labels = Readonly<Record<string, string>>;
