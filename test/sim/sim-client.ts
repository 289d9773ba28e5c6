import { ApiError, ConnectionError } from "../../src/kube/client/api-error.ts";
import type { KubeClient, WatchEvent, WatchOptions } from "../../src/kube/client/client.ts";
import type { KubeObject, ObjectRef, Resource } from "../../src/kube/client/resource.ts";
import { keyOf, notServed, ObjectStore } from "../support/object-store.ts";
import { EPOCH_MS, type Host } from "./host.ts";
import type { Network } from "./network.ts";
import type { Scheduler } from "./scheduler.ts";
import { SimWatch } from "./sim-watch.ts";

export interface SimCluster {
  readonly scheduler: Scheduler;
  readonly etcd: ObjectStore;
  readonly network: Network;
  /** Requests that were lost, refused or not answered, and watches that were cut. */
  faults: number;
}

interface Call {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 30_000;

/**
 * The simulated API server as one replica's client sees it. It stands in for KubeClient as a whole, by the methods that
 * the MAC pool calls: what is above it is the product, what is below is simulated.
 */
export class SimClient {
  readonly #cluster: SimCluster;
  readonly #host: Host;
  readonly #watches = new Set<SimWatch>();
  /** Where this client alone reads and writes Leases. */
  readonly #ownLeases: ObjectStore | undefined;
  /** Ends the process. */
  readonly restored: () => void;

  /** `alwaysLeads`: nobody else ever holds a Lease that this client sees. */
  constructor(cluster: SimCluster, host: Host, restored: () => void, alwaysLeads = false) {
    this.#cluster = cluster;
    this.restored = restored;
    this.#host = host;
    this.#ownLeases = alwaysLeads ? new ObjectStore(() => EPOCH_MS + cluster.scheduler.nowMs) : undefined;
  }

  asKubeClient(): KubeClient {
    return this as unknown as KubeClient;
  }

  get(resource: Resource, ref: ObjectRef, call: Call = {}): Promise<KubeObject> {
    return this.#call(call, () => {
      const found = this.#etcdOf(resource).get(resource.plural, keyOf(ref));
      if (found === undefined) throw new ApiError({ status: 404, reason: "NotFound", message: keyOf(ref) });
      return found;
    });
  }

  list(
    resource: Resource,
    options: Call & { namespace?: string; labelSelector?: string } = {},
  ): Promise<{ items: KubeObject[]; resourceVersion: string }> {
    return this.#call(options, () => {
      if (this.#cluster.etcd.absent.has(resource.plural)) throw notServed(resource.plural);
      const items = this.#cluster.etcd.list(resource.plural, options.namespace);
      const [label, value] = (options.labelSelector ?? "").split("=");
      return {
        items: label ? items.filter(({ metadata }) => metadata.labels?.[label] === value) : items,
        resourceVersion: this.#cluster.etcd.version,
      };
    });
  }

  page(resource: Resource, options: Call & { namespace?: string } = {}) {
    return this.list(resource, options);
  }

  async wholeList(resource: Resource, options: Call, transform: (object: KubeObject) => KubeObject | undefined) {
    const { items, resourceVersion } = await this.list(resource, options);
    return { items: items.flatMap((item) => transform(item) ?? []), resourceVersion };
  }

  watch(resource: Resource, options: WatchOptions): AsyncIterable<WatchEvent<KubeObject>> {
    const watch = new SimWatch(this.#cluster, this.#host, resource.plural, options);
    this.#watches.add(watch);
    watch.onEnd = () => this.#watches.delete(watch);
    return watch;
  }

  async *watchBatches(resource: Resource, options: WatchOptions): AsyncGenerator<WatchEvent<KubeObject>[], void> {
    const watch = this.watch(resource, options) as SimWatch;
    if (await watch.begun) yield [];
    for await (const event of watch) yield [event];
  }

  create(resource: Resource, object: KubeObject, call: Call = {}): Promise<KubeObject> {
    const etcd = this.#etcdOf(resource);
    return this.#call(call, () => {
      const { generateName, name = `${generateName}${etcd.version}` } = object.metadata;
      return etcd.create(resource, { ...object, metadata: { ...object.metadata, name } });
    });
  }

  update(resource: Resource, object: KubeObject, call: Call = {}): Promise<KubeObject> {
    return this.#call(call, () => this.#etcdOf(resource).update(resource, object));
  }

  /** A merge of fields that are replaced as a whole. */
  patch(
    resource: Resource,
    ref: ObjectRef,
    patch: { body: Readonly<Record<string, unknown>> },
    call: Call = {},
  ): Promise<KubeObject> {
    return this.#call(call, () => {
      const { etcd } = this.#cluster;
      const found = etcd.get(resource.plural, keyOf(ref));
      if (found === undefined) throw new ApiError({ status: 404, reason: "NotFound", message: keyOf(ref) });
      return etcd.update(resource, { ...found, ...patch.body });
    });
  }

  delete(
    resource: Resource,
    ref: ObjectRef,
    options: Call & { uid?: string; resourceVersion?: string } = {},
  ): Promise<void> {
    return this.#call(options, () => this.#etcdOf(resource).remove(resource, ref, options));
  }

  #etcdOf({ plural }: Resource): ObjectStore {
    return plural === "leases" && this.#ownLeases !== undefined ? this.#ownLeases : this.#cluster.etcd;
  }

  /** Ends every watch as a broken connection does. */
  cut(): void {
    for (const watch of [...this.#watches]) watch.cut();
  }

  /** A dead process leaves nothing behind that would go on being fed. */
  close(): void {
    for (const watch of [...this.#watches]) watch.close();
  }

  /** The request travels, is carried out in one instant, and the answer travels back; the caller may not wait for it. */
  #call<T>({ signal, timeoutMs = DEFAULT_TIMEOUT_MS }: Call, execute: () => T): Promise<T> {
    const { scheduler, network } = this.#cluster;
    const host = this.#host;
    return new Promise<T>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let isOver = false;
      const onAbort = (): void => end(() => reject(signal?.reason));
      const end = (settle: () => void): void => {
        if (isOver) return;
        isOver = true;
        signal?.removeEventListener("abort", onAbort);
        settle();
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const fail = (delayMs: number, written: boolean): void => {
        this.#cluster.faults += 1;
        const error = new ConnectionError("the connection broke", { written });
        scheduler.after(delayMs, () => host.deliver(() => end(() => reject(error))));
      };
      const answer = (settle: () => void): void => {
        const delayMs = network.delayMs();
        scheduler.after(Math.min(delayMs, timeoutMs), () => host.deliver(() => end(settle)));
      };
      const thereMs = network.delayMs();
      const { random, weather } = network;
      const isLost = random.chance(weather.lost);
      const { restores } = this.#cluster.etcd;
      if (thereMs >= timeoutMs) fail(timeoutMs, true);
      if (isLost || !network.reaches(host.name))
        return fail(Math.min(timeoutMs, random.chance(0.5) ? 2 : 8_000), false);
      scheduler.after(thereMs, () => {
        if (!network.apiIsUp || this.#cluster.etcd.restores !== restores) return fail(1, true);
        if (random.chance(weather.refused)) {
          this.#cluster.faults += 1;
          const status = random.pick([429, 500, 503, 504]);
          return answer(() => reject(new ApiError({ status, reason: "Refused", message: `refused: ${status}` })));
        }
        let settle: () => void;
        try {
          const result = execute();
          settle = () => resolve(result);
        } catch (error) {
          // What the auditor finds in a write of the product ends the run, whoever would have caught it.
          if (!(error instanceof ApiError)) throw error;
          settle = () => reject(error);
        }
        if (random.chance(weather.unanswered)) fail(random.between(1, timeoutMs), true);
        else answer(settle);
      });
    });
  }
}
