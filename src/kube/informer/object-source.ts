import { ApiError, apiErrorFromEvent, isGone, isNotFound } from "../client/api-error.ts";
import type { KubeClient, Page, SelectOptions, WatchEvent } from "../client/client.ts";
import type { KubeObject, Resource } from "../client/resource.ts";
import type { InformerMetrics } from "./informer-metrics.ts";
import type { Effect, Fault, Input } from "./reflector.ts";

export interface ObjectSourceOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly selection: Pick<SelectOptions, "namespace" | "labelSelector" | "fieldSelector">;
  /** Gets the object as the server sent it, but without managedFields. */
  readonly transform: ((object: T) => T) | undefined;
  readonly keep: ((object: T) => boolean) | undefined;
  readonly pageSize: number;
  readonly metrics: InformerMetrics;
}

/** Lists and watches as the reflector asks, and gives the answers as its inputs. Throws what the client throws. */
export class ObjectSource<T extends KubeObject> {
  readonly #options: ObjectSourceOptions<T>;
  readonly #transform: (object: T) => T;
  readonly #keep: (object: T) => boolean;
  readonly #what: SelectOptions;
  /** What ADDED means: with a selector, also that an object begins to match. */
  readonly #added: "create" | "put";

  constructor(options: ObjectSourceOptions<T>) {
    this.#options = options;
    this.#transform = options.transform ?? ((object) => object);
    this.#keep = options.keep ?? (() => true);
    this.#what = { ...options.selection, managedFields: false };
    const { labelSelector, fieldSelector } = options.selection;
    this.#added = labelSelector === undefined && fieldSelector === undefined ? "create" : "put";
  }

  async page(effect: Extract<Effect, { type: "list" }>, signal: AbortSignal): Promise<Input<T>> {
    const page = await this.#list(effect, { ...this.#what, signal });
    this.#options.metrics.listed();
    const { items, resourceVersion } = page;
    const input = { type: "page", items, resourceVersion } as const;
    return page.continue ? { ...input, next: page.continue } : input;
  }

  async #list({ way, next }: Extract<Effect, { type: "list" }>, what: SelectOptions): Promise<Page<T>> {
    const { client, resource, pageSize } = this.#options;
    if (way === "whole") {
      return client.wholeList(resource, what, (object) => this.#kept(object)[0]);
    }
    const page = await client.page(resource, { ...what, limit: pageSize }, next);
    return { ...page, items: page.items.flatMap((object) => this.#kept(object)) };
  }

  /** The object as it is stored, or nothing. */
  #kept(object: T): readonly T[] {
    const kept = this.#transform(object);
    return this.#keep(kept) ? [kept] : [];
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

  /** The events before an ERROR event, and the error it carries. */
  #untilError(events: readonly WatchEvent<T>[]): { good: readonly WatchEvent<T>[]; error?: ApiError } {
    const { resource, metrics } = this.#options;
    const failed = events.findIndex((event) => event.type === "ERROR");
    const good = failed < 0 ? events : events.slice(0, failed);
    for (const event of good) {
      metrics.watched(event.type);
    }
    return failed < 0
      ? { good }
      : { good, error: apiErrorFromEvent(events[failed]?.object, `watch of ${resource.plural}`) };
  }

  #input({ type, object }: WatchEvent<T>): Input<T> {
    if (type === "BOOKMARK") {
      return { type: "bookmark", resourceVersion: object.metadata.resourceVersion ?? "" };
    }
    const kept = this.#transform(object);
    if (type === "DELETED") return { type: "event", event: "remove", object: kept };
    if (!this.#keep(kept)) return { type: "event", event: "forget", object: kept };
    return { type: "event", event: type === "ADDED" ? this.#added : "put", object: kept };
  }
}

/** What an error of a list or a watch means to the reflector. */
export function faultOf(error: unknown): Fault {
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
