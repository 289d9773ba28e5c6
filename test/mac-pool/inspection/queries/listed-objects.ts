import type { KubeClient, Page, WatchEvent } from "../../../../src/kube/client/client.ts";
import type { KubeObject, Resource } from "../../../../src/kube/client/resource.ts";

/** The objects of a cluster that informers list and watch, without a server: the client tells what the test says. */
export class ListedObjects {
  readonly #listed: Readonly<Record<string, readonly KubeObject[]>>;
  readonly #watches = new Map<string, (event: WatchEvent<KubeObject>) => void>();
  #version = 1;

  /** By plural. */
  constructor(listed: Readonly<Record<string, readonly KubeObject[]>>) {
    this.#listed = listed;
  }

  asKubeClient(): KubeClient {
    const page = async (resource: Resource): Promise<Page<KubeObject>> => ({
      items: (this.#listed[resource.plural] ?? []).map((object) => structuredClone(object)),
      resourceVersion: "1",
    });
    const wholeList = async (resource: Resource, _: object, keep: (object: KubeObject) => KubeObject | undefined) => {
      const { items, resourceVersion } = await page(resource);
      return { items: items.flatMap((object) => keep(object) ?? []), resourceVersion };
    };
    const watchBatches = (resource: Resource, options: { readonly signal?: AbortSignal }) =>
      this.#watch(resource, options.signal);
    return { page, wholeList, watchBatches } as unknown as KubeClient;
  }

  /** Resolves when the informer has told its handlers. `version`: where it is not the next. */
  async tell(
    type: "ADDED" | "MODIFIED" | "DELETED",
    plural: string,
    object: KubeObject,
    version = this.#version + 1,
  ): Promise<void> {
    this.#version = Math.max(this.#version, version);
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    this.#watches.get(plural)?.({ type, object: { ...structuredClone(object), metadata } });
    await new Promise((resolve) => setImmediate(resolve));
  }

  async *#watch(resource: Resource, signal: AbortSignal | undefined): AsyncGenerator<WatchEvent<KubeObject>[]> {
    const events: WatchEvent<KubeObject>[] = [];
    let wake = (): void => {};
    this.#watches.set(resource.plural, (event) => {
      events.push(event);
      wake();
    });
    signal?.addEventListener("abort", () => wake(), { once: true });
    while (signal?.aborted !== true) {
      if (events.length > 0) yield events.splice(0);
      else await new Promise<void>((resolve) => (wake = resolve));
    }
    throw signal.reason;
  }
}
