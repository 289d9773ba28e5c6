import type { Registry } from "prom-client";
import { FORMER_FINALIZER } from "../../api/names.ts";
import { isConflict, isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { Controller, type ReconcileContext, type ReconcileResult } from "../../kube/informer/controller.ts";
import { objectKey, splitKey } from "../../kube/informer/informer.ts";
import type { Log } from "../../kube/log.ts";
import type { Caches } from "../cluster/caches.ts";
import { KINDS } from "../objects/kinds.ts";
import { whileFollowing } from "./following.ts";

export interface FinalizerControllerOptions {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly clock: Clock;
  /** For the delays between tries. */
  readonly random?: () => number;
  readonly log: Log;
  readonly metrics: Registry;
}

/** Takes the finalizer of KubeMacPool before 0.30 off VMs that are being deleted, which would stay for ever. Run by the leader. */
export class FinalizerController {
  readonly #options: FinalizerControllerOptions;
  readonly #controller: Controller;

  constructor(options: FinalizerControllerOptions) {
    this.#options = options;
    const { clock, log, metrics, random } = options;
    this.#controller = new Controller({
      name: "former-finalizers",
      clock,
      log,
      metrics,
      ...(random && { random }),
      reconcile: (key, context) => this.#reconcile(key, context),
    });
  }

  /** Runs until the signal aborts. Can be run once. */
  async run(signal: AbortSignal): Promise<void> {
    const { caches } = this.#options;
    const enqueue = (machine: KubeObject): void => {
      if (isHeld(machine)) this.#controller.enqueue(objectKey(machine));
    };
    const stop = caches.machines.on({ add: enqueue, update: enqueue });
    await whileFollowing(caches, signal, [stop], () => this.#controller.run(signal));
  }

  async #reconcile(key: string, { signal, log }: ReconcileContext): Promise<ReconcileResult> {
    const { client } = this.#options;
    const { namespace, name } = splitKey(key);
    const ref = { name, ...(namespace !== undefined && { namespace }) };
    try {
      const machine = await client.get(KINDS.virtualMachines, ref, { signal });
      if (!isHeld(machine)) return {};
      const { finalizers = [], resourceVersion } = machine.metadata;
      const left = finalizers.filter((finalizer) => finalizer !== FORMER_FINALIZER);
      const body = { metadata: { finalizers: left, resourceVersion } };
      await client.patch(KINDS.virtualMachines, ref, { type: "merge", body }, { signal });
      log.info({ vm: key }, `took the finalizer ${FORMER_FINALIZER} off a VM that is being deleted`);
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
    return {};
  }
}

const isHeld = ({ metadata }: KubeObject): boolean =>
  metadata.deletionTimestamp !== undefined && (metadata.finalizers?.includes(FORMER_FINALIZER) ?? false);
