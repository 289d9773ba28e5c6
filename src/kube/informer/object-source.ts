import { type ApiError, apiErrorFromEvent } from "../client/api-error.ts";
import type { KubeClient, Page, SelectOptions, WatchEvent } from "../client/client.ts";
import type { KubeObject, Resource } from "../client/resource.ts";
import type { Clock } from "../clock.ts";
import type { InformerMetrics } from "./informer-metrics.ts";
import { InitialEvents, noInitialEvents } from "./initial-events.ts";
import type { Effect, Input } from "./reflector.ts";
import { type Shards, shardedList } from "./sharded-list.ts";

export interface ObjectSourceOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly selection: Pick<SelectOptions, "namespace" | "labelSelector" | "fieldSelector">;
  /** Gets the object as the server sent it, but for managedFields. */
  readonly transform: ((object: T) => T) | undefined;
  readonly shards: Shards | undefined;
  readonly initialQuietMs: number;
  readonly pageSize: number;
  readonly clock: Clock;
  readonly metrics: InformerMetrics | undefined;
}

type Ahead<T> = { readonly token: string; readonly page: Promise<Page<T>> } | undefined;

/** Lists and watches as the reflector wants it, and gives what comes as its inputs. Throws what the client throws. */
export class ObjectSource<T extends KubeObject> {
  readonly #options: ObjectSourceOptions<T>;
  readonly #transform: (object: T) => T;
  readonly #what: SelectOptions;
  /** The page that is being fetched for when it will be asked for. */
  #ahead: Ahead<T>;
  /** Continue token of the page that was asked for last. */
  #wanted: string | undefined;

  constructor(options: ObjectSourceOptions<T>) {
    this.#options = options;
    this.#transform = options.transform ?? ((object) => object);
    this.#what = { ...options.selection, managedFields: false };
  }

  /** While one page is parsed the next is on its way: the server's work and ours go on side by side. */
  async page(effect: Extract<Effect, { type: "list" }>, signal: AbortSignal): Promise<Input<T>> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    this.#wanted = effect.next;
    const page = await this.#list(effect, ahead, signal);
    this.#options.metrics?.listed();
    const { resourceVersion } = page;
    const items = effect.way === "pages" ? page.items.map(this.#transform) : page.items;
    return page.continue
      ? { type: "page", items, resourceVersion, next: page.continue }
      : { type: "page", items, resourceVersion };
  }

  #list({ way, next }: Extract<Effect, { type: "list" }>, ahead: Ahead<T>, signal: AbortSignal): Promise<Page<T>> {
    const { client, resource, shards } = this.#options;
    if (way === "pages") {
      return ahead !== undefined && ahead.token === next ? ahead.page : this.#fetch(next, signal);
    }
    const what = { ...this.#what, signal };
    return way === "shards" && shards !== undefined
      ? shardedList(client, resource, { shards, what, transform: this.#transform })
      : client.wholeList(resource, what, this.#transform);
  }

  async #fetch(next: string | undefined, signal: AbortSignal): Promise<Page<T>> {
    const { client, resource, pageSize } = this.#options;
    return client.page(resource, { ...this.#what, limit: pageSize, signal }, next, (token) => {
      // A list that was given up must not go on.
      if (this.#wanted === next && !signal.aborted) {
        const page = this.#fetch(token, signal);
        page.catch(() => {});
        this.#ahead = { token, page };
      }
    });
  }

  async *watch(effect: Extract<Effect, { type: "watch" }>, signal: AbortSignal): AsyncGenerator<Input<T>[], void> {
    const { client, resource } = this.#options;
    const { resourceVersion, timeoutSeconds } = effect;
    const options = { ...this.#what, resourceVersion, timeoutSeconds, signal };
    for await (const events of client.watchBatches(resource, options)) {
      const { good, error } = this.#untilError(events);
      yield good.map((event) => this.#input(event));
      if (error) {
        throw error;
      }
    }
  }

  /** Every object first, then what happens. A server that sends nothing for a while has not understood. */
  async *stream(effect: Extract<Effect, { type: "stream" }>, signal: AbortSignal): AsyncGenerator<Input<T>[], void> {
    const { client, resource } = this.#options;
    const initial = new InitialEvents<T>();
    const guard = this.#guard(initial, signal);
    const { timeoutSeconds } = effect;
    const options = { ...this.#what, timeoutSeconds, sendInitialEvents: true, signal: guard.signal };
    try {
      for await (const events of client.watchBatches(resource, options)) {
        const { good, error } = this.#untilError(events);
        if (initial.ended) {
          yield good.map((event) => this.#input(event));
        } else {
          yield good.flatMap((event) => (initial.ended ? [this.#input(event)] : initial.take(event, this.#transform)));
          if (initial.ended) {
            guard.cancel();
          }
        }
        if (error) {
          throw error;
        }
      }
    } finally {
      guard.end();
    }
  }

  /** The events before an ERROR event, and the error it carries. */
  #untilError(events: readonly WatchEvent<T>[]): { good: readonly WatchEvent<T>[]; error?: ApiError } {
    const { resource, metrics } = this.#options;
    const failed = events.findIndex((event) => event.type === "ERROR");
    const good = failed < 0 ? events : events.slice(0, failed);
    for (const event of good) {
      metrics?.watched(event.type);
    }
    return failed < 0
      ? { good }
      : { good, error: apiErrorFromEvent(events[failed]?.object, `watch of ${resource.plural}`) };
  }

  #input({ type, object }: WatchEvent<T>): Input<T> {
    if (type === "BOOKMARK") {
      return { type: "bookmark", resourceVersion: object.metadata.resourceVersion ?? "" };
    }
    return { type: "event", event: type === "DELETED" ? "remove" : "put", object: this.#transform(object) };
  }

  /** A signal that aborts with the caller's, or when no initial event came for too long. */
  #guard(initial: InitialEvents<T>, parent: AbortSignal) {
    const { clock, initialQuietMs } = this.#options;
    const controller = new AbortController();
    const onAbort = () => controller.abort(parent.reason);
    let cancel = () => {};
    const arm = () => {
      cancel = clock.after(initialQuietMs, () => {
        if (!initial.active) {
          controller.abort(noInitialEvents(`nothing came for ${initialQuietMs} ms`));
          return;
        }
        initial.active = false;
        arm();
      });
    };
    arm();
    parent.addEventListener("abort", onAbort, { once: true });
    return {
      signal: controller.signal,
      cancel: () => cancel(),
      end: () => {
        cancel();
        parent.removeEventListener("abort", onAbort);
      },
    };
  }
}
