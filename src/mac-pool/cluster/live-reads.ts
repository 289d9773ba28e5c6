import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject, ObjectRef, Resource } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";

const READ_TIMEOUT_MS = 10_000;
/** How long a read waits for equal ones. The claims of one object are looked at within a turn. */
const GATHER_MS = 1;

/**
 * Quorum reads of objects. Equal reads that have not begun are one read: the claims of a VM's interfaces take one and not
 * one each. A read that has begun does not answer later callers, since they may know something newer than its beginning.
 * Lists of one namespace run one after the other: however many VMs are deleted at once, those that wait share the next.
 * A kind that the cluster does not have is empty.
 */
export class LiveReads {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #asked = new Map<string, Promise<unknown>>();
  /** The list that runs, by key. Never rejects. */
  readonly #listing = new Map<string, Promise<void>>();

  /** `signal` ends all reads. */
  constructor(client: KubeClient, clock: Clock, signal: AbortSignal) {
    this.#client = client;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Undefined when there is none. */
  get(resource: Resource, ref: ObjectRef): Promise<KubeObject | undefined> {
    const options = { signal: this.#signal, timeoutMs: READ_TIMEOUT_MS };
    const read = (): Promise<KubeObject | undefined> => this.#client.get(resource, ref, options);
    return this.#shared(`${resource.plural}/${ref.namespace ?? ""}/${ref.name}`, read, undefined);
  }

  list(resource: Resource, namespace: string, labelSelector = ""): Promise<readonly KubeObject[]> {
    const options = { namespace, signal: this.#signal, ...(labelSelector === "" ? {} : { labelSelector }) };
    const key = `${resource.plural}/${namespace}?${labelSelector}`;
    const read = async (): Promise<readonly KubeObject[]> => {
      const items = this.#client.list(resource, options).then((list) => list.items);
      const ended = items.then(
        () => {},
        () => {},
      );
      this.#listing.set(key, ended);
      try {
        return await items;
      } finally {
        if (this.#listing.get(key) === ended) this.#listing.delete(key);
      }
    };
    return this.#shared(key, read, []);
  }

  #shared<T>(key: string, read: () => Promise<T>, none: T): Promise<T> {
    const asked = (this.#asked.get(key) as Promise<T> | undefined) ?? this.#later(key, read, none);
    this.#asked.set(key, asked);
    return asked;
  }

  async #later<T>(key: string, read: () => Promise<T>, none: T): Promise<T> {
    try {
      await this.#clock.sleep(GATHER_MS, this.#signal);
      await this.#listing.get(key);
    } finally {
      this.#asked.delete(key);
    }
    try {
      return await read();
    } catch (error) {
      if (isNotFound(error)) return none;
      throw error;
    }
  }
}
