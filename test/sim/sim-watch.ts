import { ConnectionError } from "../../src/kube/client/api-error.ts";
import type { WatchEvent, WatchOptions } from "../../src/kube/client/client.ts";
import type { KubeObject } from "../../src/kube/client/resource.ts";
import { type Change, notServed } from "../support/object-store.ts";
import type { Host } from "./host.ts";
import type { SimCluster } from "./sim-client.ts";

type Item = { readonly event: WatchEvent<KubeObject> } | { readonly error: unknown } | "end";

/** Longest that an event is under way; a watch that is further behind is cut. */
const MAX_LAG_MS = 10_000;

/**
 * One watch of one kind: its events come late, in their order, and independently of all other kinds'; it may end or
 * break at any time. As an iterator it can be used once.
 */
export class SimWatch implements AsyncIterableIterator<WatchEvent<KubeObject>> {
  onEnd: () => void = () => {};
  readonly #cluster: SimCluster;
  readonly #host: Host;
  readonly #signal: AbortSignal | undefined;
  readonly #begun = Promise.withResolvers<boolean>();
  #items: Item[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<WatchEvent<KubeObject>>> | undefined;
  #lastDueMs = 0;
  #isOpen = true;
  /** Nothing comes any more, and soon the client notices. */
  #isBroken = false;
  #unsubscribe = (): void => {};

  constructor(cluster: SimCluster, host: Host, plural: string, options: WatchOptions) {
    this.#cluster = cluster;
    this.#host = host;
    this.#signal = options.signal;
    const { scheduler, network } = cluster;
    const onAbort = (): void => this.#finish({ error: this.#signal?.reason });
    this.#signal?.addEventListener("abort", onAbort, { once: true });
    scheduler.after(network.delayMs(), () => this.#open(plural, Number(options.resourceVersion ?? 0)));
    scheduler.after((options.timeoutSeconds ?? 300) * 1000, () => this.#host.deliver(() => this.#finish("end")));
  }

  /** Resolves with whether the server has answered before the watch was over. */
  get begun(): Promise<boolean> {
    return this.#begun.promise;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<WatchEvent<KubeObject>>> {
    const item = this.#items.shift();
    if (item !== undefined) return resultOf(item);
    if (!this.#isOpen) return Promise.resolve({ done: true, value: undefined });
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  return(): Promise<IteratorResult<WatchEvent<KubeObject>>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  cut(): void {
    this.#cluster.faults += 1;
    this.#host.deliver(() => this.#finish({ error: new ConnectionError("the watch broke", { written: true }) }));
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#begun.resolve(false);
    this.#unsubscribe();
    this.onEnd();
  }

  #open(plural: string, version: number): void {
    if (!this.#isOpen) return;
    const { etcd, network } = this.#cluster;
    if (!network.reaches(this.#host.name)) {
      this.cut();
      return;
    }
    if (etcd.absent.has(plural)) {
      this.#host.deliver(() => this.#finish({ error: notServed(plural) }));
      return;
    }
    const missed = etcd.since(plural, version);
    if (missed === undefined) {
      const status = {
        kind: "Status",
        code: 410,
        reason: "Expired",
        message: "too old resource version",
        metadata: {},
      };
      this.#host.deliver(() => this.#finish({ event: { type: "ERROR", object: status } }));
      return;
    }
    this.#host.deliver(() => this.#begun.resolve(true));
    for (const change of missed) this.#send(change);
    this.#unsubscribe = etcd.watch((change) => {
      if (change.plural === plural && change.version > version) this.#send(change);
    });
  }

  #send({ type, object, version }: Change): void {
    const { scheduler, network } = this.#cluster;
    if (this.#isBroken) return;
    if (!network.reaches(this.#host.name) || network.random.chance(network.weather.cut)) {
      scheduler.after(network.random.between(0, 2_000), () => this.cut());
      this.#isBroken = true;
      return;
    }
    const delayMs = Math.min(network.delayMs(), MAX_LAG_MS);
    this.#lastDueMs = Math.max(this.#lastDueMs, scheduler.nowMs + delayMs);
    const shown =
      type === "DELETED" ? { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } } : object;
    scheduler.after(this.#lastDueMs - scheduler.nowMs, () =>
      this.#host.deliver(() => this.#push({ event: { type, object: shown } })),
    );
  }

  #push(item: Item): void {
    if (!this.#isOpen) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) this.#items.push(item);
    else resultOf(item).then(waiting.resolve, waiting.reject);
  }

  #finish(item: Item): void {
    if (!this.#isOpen) return;
    this.#push(item);
    this.close();
  }
}

function resultOf(item: Item): Promise<IteratorResult<WatchEvent<KubeObject>>> {
  if (item === "end") return Promise.resolve({ done: true, value: undefined });
  return "error" in item ? Promise.reject(item.error) : Promise.resolve({ done: false, value: item.event });
}
