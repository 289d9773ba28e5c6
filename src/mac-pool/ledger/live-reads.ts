import { isNotFound } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeObject, Resource } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";

const READ_TIMEOUT_MS = 10_000;
/** A read is begun so much later than it is asked for. The claims of one object are looked at within a turn. */
const GATHER_MS = 1;

/**
 * Quorum reads of objects. Who asks for the same while it is not begun shares the answer: the claims of a VM's interfaces
 * take one read and not one each. A read that is under way answers nobody who asks later: what they know is newer than
 * its beginning. A kind that the cluster does not have is empty.
 */
export class LiveReads {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #asked = new Map<string, Promise<unknown>>();

  /** `signal` ends all reads. */
  constructor(client: KubeClient, clock: Clock, signal: AbortSignal) {
    this.#client = client;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Undefined when there is none. */
  get(resource: Resource, ref: { readonly name: string; readonly namespace: string }): Promise<KubeObject | undefined> {
    const options = { signal: this.#signal, timeoutMs: READ_TIMEOUT_MS };
    const read = (): Promise<KubeObject | undefined> => this.#client.get(resource, ref, options);
    return this.#shared(`${resource.plural}/${ref.namespace}/${ref.name}`, read, undefined);
  }

  list(resource: Resource, namespace: string, labelSelector = ""): Promise<readonly KubeObject[]> {
    const options = { namespace, signal: this.#signal, ...(labelSelector === "" ? {} : { labelSelector }) };
    const read = async (): Promise<readonly KubeObject[]> => (await this.#client.list(resource, options)).items;
    return this.#shared(`${resource.plural}/${namespace}?${labelSelector}`, read, []);
  }

  #shared<T>(key: string, read: () => Promise<T>, none: T): Promise<T> {
    const asked = (this.#asked.get(key) as Promise<T> | undefined) ?? this.#later(key, read, none);
    this.#asked.set(key, asked);
    return asked;
  }

  async #later<T>(key: string, read: () => Promise<T>, none: T): Promise<T> {
    try {
      await this.#clock.sleep(GATHER_MS, this.#signal);
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
