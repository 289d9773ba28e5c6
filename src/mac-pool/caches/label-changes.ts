import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { type Informer, objectKey } from "../../kube/informer/informer.ts";

/** Remembers when the labels of objects of one kind changed, as far as this process has seen it. */
export class LabelChanges {
  readonly #changedMs = new Map<string, number>();
  readonly #clock: Clock;

  constructor(informer: Informer<KubeObject>, clock: Clock) {
    this.#clock = clock;
    informer.on({
      update: (object, old) => {
        if (JSON.stringify(object.metadata.labels) !== JSON.stringify(old.metadata.labels))
          this.#changedMs.set(objectKey(object), clock.monotonicMs());
      },
      delete: (object) => this.#changedMs.delete(objectKey(object)),
    });
  }

  /** Whether they have stayed as they are for so long; true where no change was seen. */
  areOlderThan(ms: number, key: string): boolean {
    return this.#clock.monotonicMs() - (this.#changedMs.get(key) ?? Number.NEGATIVE_INFINITY) >= ms;
  }
}
