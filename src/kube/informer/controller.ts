/**
 * Reconciles keys. A reconciler gets the object's name, not what happened to it: it reads the current state and changes what
 * differs from the wanted one. Built on informers and the work queue; products bring `reconcile`.
 */
import type { Registry } from "prom-client";
import type { KubeObject } from "../client/resource.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type Log, silentLog } from "../log.ts";
import type { Backoff } from "./backoff.ts";
import { type ControllerMetrics, controllerMetrics } from "./controller-metrics.ts";
import { type Informer, objectKey } from "./informer.ts";
import { WorkQueue } from "./work-queue.ts";

export interface ReconcileContext {
  /** Aborts when the controller stops: give it to every call. */
  readonly signal: AbortSignal;
  /** Carries the controller's name and the key. */
  readonly log: Log;
}

/** When to reconcile again even if nothing changes. After a throw it is tried again with growing delays. */
export interface ReconcileResult {
  readonly requeueAfterMs?: number | undefined;
}

export interface ControllerOptions {
  readonly name: string;
  // biome-ignore lint/suspicious/noConfusingVoidType: most reconcilers return nothing
  readonly reconcile: (key: string, context: ReconcileContext) => Promise<ReconcileResult | void>;
  /** How many keys are reconciled at once; one key never twice. */
  readonly concurrency?: number;
  readonly backoff?: Backoff;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly log?: Log;
  readonly metrics: Registry;
}

export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #metrics: ControllerMetrics;
  readonly #synced: ((signal: AbortSignal) => Promise<void>)[] = [];

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = (options.log ?? silentLog).child({ controller: options.name });
    this.#metrics = controllerMetrics(options.metrics, options.name);
    this.#queue = new WorkQueue({
      clock: this.#clock,
      ...(options.random && { random: options.random }),
      ...(options.backoff && { backoff: options.backoff }),
      observer: this.#metrics.queue,
    });
    this.#metrics.watchUnfinished(this.#queue);
  }

  enqueue(key: string): void {
    this.#queue.add(key);
  }

  enqueueAfter(key: string, delayMs: number): void {
    this.#queue.addAfter(key, delayMs);
  }

  /**
   * Enqueues the keys of every object that is added, changed or deleted; for a change also those of its old state.
   * `run` waits until the informer has synced. Its owner has to start the informer.
   */
  watch<T extends KubeObject>(
    informer: Informer<T>,
    mapToKeys: (object: T) => readonly string[] = (object) => [objectKey(object)],
  ): this {
    const enqueue = (object: T) => {
      for (const key of mapToKeys(object)) {
        this.#queue.add(key);
      }
    };
    informer.on({
      add: enqueue,
      update: (object, old) => {
        enqueue(old);
        enqueue(object);
      },
      delete: enqueue,
    });
    this.#synced.push((signal) => informer.whenSynced(signal));
    return this;
  }

  /** Reconciles until the signal aborts, and resolves once no reconcile is running. Can be run once. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#queue.shutdown();
    signal.addEventListener("abort", stop, { once: true });
    try {
      await Promise.all(this.#synced.map((synced) => synced(signal)));
      this.#log.debug("informers have synced");
      await Promise.all(Array.from({ length: this.#options.concurrency ?? 1 }, () => this.#work(signal)));
    } catch (error) {
      if (!signal.aborted) {
        throw error;
      }
    } finally {
      stop();
      signal.removeEventListener("abort", stop);
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (;;) {
      const key = await this.#queue.next(signal);
      if (key === undefined) {
        return;
      }
      await this.#reconcile(key, signal);
      this.#queue.done(key);
      // A reconcile that waits for nothing would keep requests and probes waiting until the queue is empty.
      await this.#clock.nextTurn?.();
    }
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const log = this.#log.child({ key });
    const startedMs = this.#clock.monotonicMs();
    const took = () => Math.round(this.#clock.monotonicMs() - startedMs);
    try {
      const result = await this.#options.reconcile(key, { signal, log });
      this.#queue.forget(key);
      const requeueAfterMs = result?.requeueAfterMs;
      if (requeueAfterMs !== undefined) {
        this.#queue.addAfter(key, requeueAfterMs);
      }
      const outcome = requeueAfterMs === undefined ? "success" : "requeue_after";
      this.#metrics.reconciled(outcome, took());
      log.debug({ result: outcome, ms: took(), requeueAfterMs }, "reconciled");
    } catch (error) {
      if (signal.aborted) {
        log.debug({ result: "stopped", ms: took() }, "the controller stopped during a reconcile");
        return;
      }
      this.#queue.retry(key);
      this.#metrics.reconciled("error", took());
      log.error(
        { result: "error", err: error, ms: took(), failures: this.#queue.failures(key) },
        "reconcile failed; it will be tried again",
      );
    }
  }
}
