import type { Registry } from "prom-client";
import type { MACPool, MacPoolStatus } from "../../api/mac-pool.ts";
import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Clock } from "../../kube/clock.ts";
import type { EventRecorder } from "../../kube/events/event-recorder.ts";
import { Controller, type ReconcileContext, type ReconcileResult } from "../../kube/informer/controller.ts";
import type { Log } from "../../kube/log.ts";
import type { Caches } from "../cluster/caches.ts";
import { countsOf } from "../cluster/pool-counts.ts";
import { KINDS } from "../objects/kinds.ts";
import { poolStatus } from "../pools/pool-status.ts";
import type { AdoptionProgress } from "./adoption.ts";
import { whileFollowing } from "./following.ts";

/** The status of a condition that an event reports. */
const BAD: Readonly<Record<string, string>> = { Valid: "False", Full: "True", Overlapping: "True", Serving: "False" };

/** Status follows the claims at this pace, however many of them change: one write a pool and interval. */
const INTERVAL_MS = 500;

export interface PoolStatusOptions {
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly clock: Clock;
  /** For the delays between tries. */
  readonly random?: () => number;
  readonly events: EventRecorder;
  readonly adoption: (pool: string) => AdoptionProgress | undefined;
  /** Why the webhooks refuse every caller, or soon will. */
  readonly servingProblem?: () => string | undefined;
  readonly log: Log;
  readonly metrics: Registry;
}

/** Writes MACPool.status from the counters of the index; run by the elected leader. */
export class PoolStatusController {
  readonly #options: PoolStatusOptions;
  readonly #controller: Controller;
  #scheduled = false;

  constructor(options: PoolStatusOptions) {
    this.#options = options;
    const { clock, log, metrics, random } = options;
    this.#controller = new Controller({
      name: "pool-status",
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
    const soon = (): void => this.#enqueueSoon();
    const stops = [
      caches.claims.on({ add: soon, update: soon, delete: soon }),
      caches.pools.on({
        add: () => this.#enqueueAll(),
        // A status comes back as an update: written again at once, it would be without an end while claims come.
        update: (pool, old) => (pool.metadata.generation === old.metadata.generation ? soon() : this.#enqueueAll()),
        delete: soon,
      }),
      caches.networks.on({ add: soon, update: soon, delete: soon }),
      caches.nodeMacs.on({ add: soon, update: soon, delete: soon }),
    ];
    await whileFollowing(caches, signal, stops, () => this.#controller.run(signal));
  }

  /** Something that no cache tells of has changed. */
  refresh(): void {
    this.#enqueueSoon();
  }

  #enqueueSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#options.clock.after(INTERVAL_MS, () => {
      this.#scheduled = false;
      this.#enqueueAll();
    });
  }

  /** A change of one pool can be a change of what another one shares with it. */
  #enqueueAll(): void {
    for (const pool of this.#options.caches.index.pools()) this.#controller.enqueue(pool.name);
  }

  async #reconcile(name: string, { signal }: ReconcileContext): Promise<ReconcileResult> {
    const { caches, client, clock } = this.#options;
    const object = caches.pools.get(name);
    const pool = caches.index.pool(name);
    if (object === undefined || pool === undefined) return {};
    const status = poolStatus({
      object,
      pool,
      counts: countsOf(pool, caches),
      problem: caches.problemOf(name),
      overlapping: caches.index.overlapping(pool),
      adoption: this.#options.adoption(name),
      servingProblem: this.#options.servingProblem?.(),
      now: new Date(clock.now()).toISOString(),
    });
    if (status === undefined) return {};
    try {
      const patch = { type: "merge", body: { status } } as const;
      await client.patch(KINDS.pools, { name }, patch, { subresource: "status", signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return {};
    }
    this.#announce(object, status);
    return {};
  }

  /** A Warning event for each condition that has just turned bad. */
  #announce(object: MACPool, status: MacPoolStatus): void {
    for (const condition of status.conditions ?? []) {
      const before = object.status?.conditions?.find(({ type }) => type === condition.type);
      const bad = condition.status === BAD[condition.type];
      if (!bad || (before?.status === condition.status && before.reason === condition.reason)) continue;
      this.#options.events.event(object, "Warning", condition.reason ?? condition.type, condition.message ?? "");
    }
  }
}
