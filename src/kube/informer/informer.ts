/**
 * A live, local copy of the objects of one kind, and the news about them.
 *
 * `reflector.ts` decides, `store.ts` holds, this file lists, watches and waits as told. Used by controllers and by
 * everybody who reads often; objects are shared, so nobody may change them. It never gives up: only its signal ends it.
 */
import type { Registry } from "prom-client";
import { ApiError, isGone, isNotFound } from "../client/api-error.ts";
import type { KubeClient } from "../client/client.ts";
import type { KubeObject, Resource } from "../client/resource.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type Log, silentLog } from "../log.ts";
import { type Handler, HandlerSet } from "./handler-set.ts";
import { type InformerMetrics, informerMetrics } from "./informer-metrics.ts";
import { ObjectSource } from "./object-source.ts";
import { begin, type Effect, type Fault, type Input, initialState, type ReflectorState, step } from "./reflector.ts";
import { DEFAULT_RULES, type ReflectorRules } from "./reflector-rules.ts";
import type { Shards } from "./sharded-list.ts";
import { type Indexer, Store } from "./store.ts";

export type { Handler } from "./handler-set.ts";
export { objectKey, splitKey } from "./object-key.ts";
export type { Shards } from "./sharded-list.ts";

export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** What to keep of each object, which comes without managedFields. It gets a fresh object and may change it. */
  readonly transform?: (object: T) => T;
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  /** For resources with very many objects: lists come in these shards, which the API server works at side by side. */
  readonly shards?: Shards;
  /** A resource the API does not serve (404: no such CRD) counts as synced and empty, and is picked up once it is there. */
  readonly absentIsEmpty?: boolean;
  readonly rules?: Partial<ReflectorRules>;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly log?: Log;
  readonly metrics?: Registry;
}

export class Informer<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly #source: ObjectSource<T>;
  readonly #rules: ReflectorRules;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #log: Log;
  readonly #metrics: InformerMetrics | undefined;
  readonly #store: Store<T>;
  readonly #handlers: HandlerSet<T>;
  readonly #synced = Promise.withResolvers<void>();
  #state: ReflectorState<T> = initialState();
  #running = false;

  constructor(options: InformerOptions<T>) {
    this.resource = options.resource;
    const { absentIsEmpty = false, shards } = options;
    this.#rules = { ...DEFAULT_RULES, absentIsEmpty, sharded: shards !== undefined, ...options.rules };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#log = (options.log ?? silentLog).child({ informer: options.resource.plural });
    this.#metrics = options.metrics && informerMetrics(options.metrics, options.resource.plural, this.#clock);
    const { client, resource, namespace, labelSelector, fieldSelector } = options;
    this.#source = new ObjectSource({
      client,
      resource,
      selection: { namespace, labelSelector, fieldSelector },
      transform: options.transform,
      shards,
      initialQuietMs: this.#rules.initialQuietMs,
      pageSize: this.#rules.pageSize,
      clock: this.#clock,
      metrics: this.#metrics,
    });
    this.#store = new Store(options.indexers);
    this.#handlers = new HandlerSet<T>((error) => {
      this.#metrics?.handlerFailed();
      this.#log.error({ err: error }, "a handler of the informer threw");
    });
    this.#synced.promise.catch(() => {});
  }

  /** True once the first list is in the store; handlers have been told by then. */
  get hasSynced(): boolean {
    return this.#state.synced;
  }

  /** Rejects with the reason when the given signal aborts, or when the informer is stopped before it synced. */
  async whenSynced(signal?: AbortSignal): Promise<void> {
    if (signal === undefined) {
      return this.#synced.promise;
    }
    signal.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await Promise.race([this.#synced.promise, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** By `namespace/name`, or `name` for kinds without namespace. */
  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  byIndex(index: string, value: string): readonly T[] {
    return this.#store.byIndex(index, value);
  }

  /**
   * Tells the handler of every change from now on, after an `add` for each object that is already there. The returned
   * function ends it. What a handler throws is logged and counted, nothing more.
   */
  on(handler: Handler<T>): () => void {
    return this.#handlers.add(handler, this.#store.list());
  }

  /** `run` without waiting for its end. */
  start(signal: AbortSignal): void {
    this.run(signal).catch((error) => this.#log.error({ err: error }, "the informer ended with an error"));
  }

  /** Lists and watches until the signal aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) {
      throw new Error(`The informer of ${this.resource.plural} was started twice.`);
    }
    this.#running = true;
    try {
      let effect = begin(this.#state, this.#rules, this.#random);
      while (!signal.aborted) {
        effect = await this.#carryOut(effect, signal);
      }
    } catch (error) {
      if (!signal.aborted) {
        throw error;
      }
    } finally {
      this.#running = false;
      this.#synced.reject(signal.reason ?? new Error(`The informer of ${this.resource.plural} was stopped.`));
    }
  }

  async #carryOut(effect: Effect, signal: AbortSignal): Promise<Effect> {
    switch (effect.type) {
      case "list": {
        const next = this.#expectEffect(await this.#list(effect, signal));
        this.#metrics?.size(this.#store.size);
        return next;
      }
      case "wait":
        await this.#clock.sleep(effect.delayMs, signal);
        return this.#expectEffect({ type: "waited" });
      case "watch":
      case "stream":
        return this.#watch(effect, signal);
    }
  }

  async #list(effect: Extract<Effect, { type: "list" }>, signal: AbortSignal): Promise<Input<T>> {
    try {
      return await this.#source.page(effect, signal);
    } catch (error) {
      signal.throwIfAborted();
      return { type: "list-failed", fault: this.#fault("list", error) };
    }
  }

  async #watch(effect: Extract<Effect, { type: "watch" | "stream" }>, signal: AbortSignal): Promise<Effect> {
    const startedMs = this.#clock.monotonicMs();
    const lasted = () => this.#clock.monotonicMs() - startedMs;
    const source = this.#source;
    try {
      for await (const inputs of effect.type === "watch"
        ? source.watch(effect, signal)
        : source.stream(effect, signal)) {
        for (const input of inputs) {
          this.#apply(input);
        }
        this.#metrics?.size(this.#store.size);
      }
    } catch (error) {
      signal.throwIfAborted();
      return this.#expectEffect({ type: "watch-failed", fault: this.#fault("watch", error), lastedMs: lasted() });
    }
    signal.throwIfAborted();
    return this.#expectEffect({ type: "watch-ended", lastedMs: lasted() });
  }

  #expectEffect(input: Input<T>): Effect {
    const effect = this.#apply(input);
    if (effect === undefined) {
      throw new Error(`The reflector answered ${input.type} with nothing to do.`);
    }
    return effect;
  }

  #apply(input: Input<T>): Effect | undefined {
    const { state, writes, effect } = step(this.#state, input, this.#rules, this.#random);
    this.#state = state;
    for (const write of writes) {
      const changes =
        write.type === "replace" ? this.#store.replace(write.objects) : this.#store[write.type](write.object);
      this.#handlers.tell(changes);
    }
    if (state.synced) {
      this.#synced.resolve();
    }
    return effect;
  }

  #fault(doing: "list" | "watch", error: unknown): Fault {
    this.#metrics?.failed(doing);
    const fault = faultOf(error);
    const expected = fault.kind === "gone" || (fault.kind === "absent" && this.#rules.absentIsEmpty);
    this.#log[expected ? "debug" : "warn"]({ err: error, failures: this.#state.failures + 1 }, `${doing} failed`);
    return fault;
  }
}

function faultOf(error: unknown): Fault {
  if (isGone(error)) {
    return { kind: "gone" };
  }
  if (isNotFound(error)) {
    return { kind: "absent" };
  }
  if (error instanceof ApiError) {
    const refused = error.status < 500 && ![401, 403, 429].includes(error.status);
    return { kind: refused ? "refused" : "broken", retryAfterMs: error.retryAfterMs };
  }
  return { kind: "broken" };
}
