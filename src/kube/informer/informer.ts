/**
 * A live, local copy of the objects of one kind. Its handlers get every change.
 *
 * `reflector.ts` decides, `store.ts` holds the objects, this file lists, watches and waits. The objects are shared, so
 * nobody may change them. Only its signal ends an informer, and a restore of etcd.
 */
import type { Registry } from "prom-client";
import type { KubeClient } from "../client/client.ts";
import type { KubeObject, Resource } from "../client/resource.ts";
import { type Clock, systemClock } from "../clock.ts";
import { type Log, silentLog } from "../log.ts";
import { type Handler, HandlerSet } from "./handler-set.ts";
import { type InformerMetrics, informerMetrics } from "./informer-metrics.ts";
import { ListHealth } from "./list-health.ts";
import { faultOf, ObjectSource } from "./object-source.ts";
import {
  begin,
  type Effect,
  type Fault,
  type Input,
  initialState,
  type ReflectorState,
  resetBackoff,
  step,
} from "./reflector.ts";
import { DEFAULT_RULES, type ReflectorRules } from "./reflector-rules.ts";
import { type Indexer, Store } from "./store.ts";

export type { Handler } from "./handler-set.ts";
export { objectKey, splitKey } from "./store.ts";

export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** What to keep of each object. It gets an object without managedFields that nobody else has, and may change it. */
  readonly transform?: (object: T) => T;
  /** Whether to store the object at all, as `transform` left it. Handlers get a deletion when that ends. */
  readonly keep?: (object: T) => boolean;
  readonly indexers?: Readonly<Record<string, Indexer<T>>>;
  /** A resource that the API does not serve (404: no such CRD) counts as synced and empty until it is served. */
  readonly absentIsEmpty?: boolean;
  /** Called when `isServed` changes. */
  readonly onServed?: () => void;
  /** Called whenever the API server refuses a list. */
  readonly onRefused?: () => void;
  readonly rules?: Partial<ReflectorRules>;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly log?: Log;
  readonly metrics: Registry;
}

export class Informer<T extends KubeObject> {
  readonly resource: Resource<T>;
  readonly #client: KubeClient;
  readonly #source: ObjectSource<T>;
  readonly #rules: ReflectorRules;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #log: Log;
  readonly #metrics: InformerMetrics;
  readonly #store: Store<T>;
  readonly #handlers: HandlerSet<T>;
  readonly #synced = Promise.withResolvers<void>();
  #state: ReflectorState<T> = initialState();
  #running = false;
  readonly #listHealth: ListHealth;
  /** Ends the watch for a list; aborted until a list is complete. */
  #again = new AbortController();
  /** Ends a wait. */
  #waiting = new AbortController();

  constructor(options: InformerOptions<T>) {
    this.resource = options.resource;
    this.#rules = { ...DEFAULT_RULES, absentIsEmpty: options.absentIsEmpty ?? false, ...options.rules };
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#listHealth = new ListHealth({ ...options, clock: this.#clock });
    this.#log = (options.log ?? silentLog).child({ informer: options.resource.plural });
    this.#metrics = informerMetrics(options.metrics, options.resource.plural, this.#clock);
    const { client, resource, namespace, labelSelector, fieldSelector } = options;
    this.#client = client;
    this.#source = new ObjectSource({
      client,
      resource,
      selection: { namespace, labelSelector, fieldSelector },
      transform: options.transform,
      keep: options.keep,
      pageSize: this.#rules.pageSize,
      metrics: this.#metrics,
    });
    this.#store = new Store(options.indexers);
    this.#handlers = new HandlerSet<T>((error) => {
      this.#metrics.handlerFailed();
      this.#log.error({ err: error }, "a handler of the informer threw");
    });
    this.#synced.promise.catch(() => {});
  }

  /** True once the first list is in the store and handlers have got it. */
  get hasSynced(): boolean {
    return this.#state.synced;
  }

  /** Version up to which the store has everything that was written. */
  get reached(): string | undefined {
    return this.#state.reached;
  }

  /** Whether the API serves the resource, as it answered last. What is written after it became true will be watched. */
  get isServed(): boolean {
    return this.#listHealth.isServed;
  }

  /** Why the last list failed. Undefined after one that did not. */
  get fault(): string | undefined {
    return this.#listHealth.fault;
  }

  /** For how long lists have been refused. 0 after one, while the kind is not served, and without an answer. */
  get refusedMs(): number {
    return this.#listHealth.refusedMs;
  }

  /** How long ago the API server last answered, whatever it said; 0 unless it runs. */
  get silentMs(): number {
    return this.#metrics.silentMs();
  }

  /** Rejects with the reason when the given signal aborts, or when the informer is stopped before it synced. */
  async whenSynced(signal?: AbortSignal): Promise<void> {
    if (signal === undefined) return this.#synced.promise;
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
   * Tells the handler of every change from now on, after an `add` for each object in the cache. The returned function ends
   * that. What a handler throws is logged and counted.
   */
  on(handler: Handler<T>): () => void {
    return this.#handlers.add(handler, this.#store.list());
  }

  /**
   * Ends a wait, because what it waits for may be there: the API is about to serve the resource, or answers again. `relist`:
   * lists in place of watching, because what the watch goes on from may never have been.
   */
  retryNow(relist = false): void {
    this.#state = resetBackoff(this.#state);
    if (relist) this.#again.abort(new Error("a new list is needed"));
    this.#waiting.abort(new Error("there is a reason to look now"));
  }

  /** Starts `run` without waiting for its end. */
  start(signal: AbortSignal): void {
    this.run(signal).catch((error) => this.#log.error({ err: error }, "the informer ended with an error"));
  }

  /** Lists and watches until the signal aborts, then resolves. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running) throw new Error(`The informer of ${this.resource.plural} was started twice.`);
    this.#running = true;
    this.#metrics.started();
    try {
      let effect = begin(this.#state, this.#rules, this.#random);
      while (!signal.aborted && effect.type !== "restored") {
        effect = await this.#carryOut(effect, signal);
      }
      if (!signal.aborted) this.#client.restored(`the API server's list of ${this.resource.plural}`);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#running = false;
      this.#metrics.ended();
      this.#synced.reject(signal.reason ?? new Error(`The informer of ${this.resource.plural} was stopped.`));
    }
  }

  async #carryOut(effect: Exclude<Effect, { type: "restored" }>, signal: AbortSignal): Promise<Effect> {
    switch (effect.type) {
      case "list": {
        if (effect.next === undefined) this.#again = new AbortController();
        const next = this.#expectEffect(await this.#list(effect, signal));
        this.#metrics.size(this.#store.size);
        return next;
      }
      case "wait":
        await this.#wait(effect.delayMs, signal);
        return this.#expectEffect({ type: "waited" });
      case "watch":
        return this.#watch(effect, signal);
    }
  }

  async #wait(delayMs: number, signal: AbortSignal): Promise<void> {
    this.#waiting = new AbortController();
    const { signal: over } = this.#waiting;
    try {
      await this.#clock.sleep(delayMs, AbortSignal.any([signal, over]));
    } catch (error) {
      signal.throwIfAborted();
      if (!over.aborted) throw error;
    }
  }

  async #list(effect: Extract<Effect, { type: "list" }>, signal: AbortSignal): Promise<Input<T>> {
    try {
      const page = await this.#source.page(effect, signal);
      this.#listHealth.listed();
      return page;
    } catch (error) {
      signal.throwIfAborted();
      return { type: "list-failed", fault: this.#noted("list", error) };
    }
  }

  async #watch(effect: Extract<Effect, { type: "watch" }>, signal: AbortSignal): Promise<Effect> {
    const startedMs = this.#clock.monotonicMs();
    const lasted = () => this.#clock.monotonicMs() - startedMs;
    const again = this.#again.signal;
    let begun = false;
    const failed = (fault: Fault, lastedMs: number): Effect =>
      this.#expectEffect({ type: "watch-failed", fault, begun, lastedMs });
    const gone = (): Effect => failed({ kind: "gone" }, this.#rules.shortWatchMs);
    try {
      if (again.aborted) return gone();
      for await (const inputs of this.#source.watch(effect, AbortSignal.any([signal, again]))) {
        begun = true;
        this.#metrics.answered();
        for (const input of inputs) this.#apply(input);
        this.#metrics.size(this.#store.size);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (again.aborted) return gone();
      return failed(this.#noted("watch", error), lasted());
    }
    signal.throwIfAborted();
    if (again.aborted) return gone();
    return this.#expectEffect({ type: "watch-ended", lastedMs: lasted() });
  }

  #expectEffect(input: Input<T>): Effect {
    const effect = this.#apply(input);
    if (effect === undefined) throw new Error(`The reflector has no next step after ${input.type}.`);
    return effect;
  }

  #apply(input: Input<T>): Effect | undefined {
    const { state, writes, effect } = step(this.#state, input, this.#rules, this.#random);
    this.#state = state;
    for (const write of writes) {
      const isList = write.type === "replace";
      if (isList) this.#handlers.relisted();
      const changes = isList ? this.#store.replace(write.objects) : this.#store[write.type](write.object);
      this.#handlers.distribute(changes);
    }
    if (state.synced) this.#synced.resolve();
    return effect;
  }

  #noted(doing: "list" | "watch", error: unknown): Fault {
    const fault = faultOf(error);
    const absent = fault.kind === "absent" && this.#rules.absentIsEmpty;
    if (fault.kind === "absent") this.#listHealth.absent();
    if (doing === "list") this.#listHealth.failed(error);
    if (absent) this.#metrics.absent();
    else this.#metrics.failed(doing, error);
    const expected = absent || fault.kind === "gone";
    this.#log[expected ? "debug" : "warn"]({ err: error, failures: this.#state.failures + 1 }, `${doing} failed`);
    return fault;
  }
}
