import { apiErrorFromEvent } from "../client/api-error.ts";
import type { KubeClient, SelectOptions, WatchEvent, WatchOptions } from "../client/client.ts";
import type { KubeObject, Resource } from "../client/resource.ts";
import type { Clock } from "../clock.ts";
import type { InformerMetrics } from "./informer-metrics.ts";
import { InitialEvents, noInitialEvents } from "./initial-events.ts";
import type { Effect, Input } from "./reflector.ts";

export interface ObjectSourceOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly selection: Pick<SelectOptions, "namespace" | "labelSelector" | "fieldSelector">;
  readonly transform: (object: T) => T;
  readonly initialQuietMs: number;
  readonly clock: Clock;
  readonly metrics: InformerMetrics | undefined;
}

/** Lists and watches as the reflector wants it, and gives what comes as its inputs. Throws what the client throws. */
export class ObjectSource<T extends KubeObject> {
  readonly #options: ObjectSourceOptions<T>;

  constructor(options: ObjectSourceOptions<T>) {
    this.#options = options;
  }

  async page(effect: Extract<Effect, { type: "list" }>, signal: AbortSignal): Promise<Input<T>> {
    const { client, resource, selection, transform, metrics } = this.#options;
    const limit = effect.paged ? undefined : 0;
    const page = await client.page(resource, { ...selection, limit, signal }, effect.next);
    metrics?.listed();
    const { resourceVersion } = page;
    const items = page.items.map(transform);
    return page.continue
      ? { type: "page", items, resourceVersion, next: page.continue }
      : { type: "page", items, resourceVersion };
  }

  async *watch(effect: Extract<Effect, { type: "watch" }>, signal: AbortSignal): AsyncGenerator<Input<T>[], void> {
    const { resourceVersion, timeoutSeconds } = effect;
    for await (const events of this.#events({ resourceVersion, timeoutSeconds }, signal)) {
      yield events.map((event) => this.#input(event));
    }
  }

  /** Every object first, then what happens. A server that sends nothing for a while has not understood. */
  async *stream(effect: Extract<Effect, { type: "stream" }>, signal: AbortSignal): AsyncGenerator<Input<T>[], void> {
    const { transform } = this.#options;
    const { timeoutSeconds } = effect;
    const initial = new InitialEvents<T>();
    const guard = this.#guard(initial, signal);
    try {
      for await (const events of this.#events({ timeoutSeconds, sendInitialEvents: true }, guard.signal)) {
        yield events.flatMap((event) => (initial.ended ? [this.#input(event)] : initial.take(event, transform)));
        if (initial.ended) {
          guard.cancel();
        }
      }
    } finally {
      guard.end();
    }
  }

  async *#events(
    options: Pick<WatchOptions, "resourceVersion" | "timeoutSeconds" | "sendInitialEvents">,
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>[], void> {
    const { client, resource, selection, metrics } = this.#options;
    for await (const events of client.watchBatches(resource, { ...selection, ...options, signal })) {
      const failed = events.findIndex((event) => event.type === "ERROR");
      const good = failed < 0 ? events : events.slice(0, failed);
      for (const event of good) {
        metrics?.watched(event.type);
      }
      yield good;
      if (failed >= 0) {
        throw apiErrorFromEvent(events[failed]?.object, `watch of ${resource.plural}`);
      }
    }
  }

  #input({ type, object }: WatchEvent<T>): Input<T> {
    if (type === "BOOKMARK") {
      return { type: "bookmark", resourceVersion: object.metadata.resourceVersion ?? "" };
    }
    return { type: "event", event: type === "DELETED" ? "remove" : "put", object: this.#options.transform(object) };
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
