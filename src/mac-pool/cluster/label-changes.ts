import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import { type Informer, objectKey } from "../../kube/informer/informer.ts";

/** Remembers when what the labels of objects of one kind say changed, as far as this process has seen it. */
export class LabelChanges {
  readonly #changedMs = new Map<string, number>();
  readonly #clock: Clock;

  /** `saying`: what the labels of an object say, as far as it matters. */
  constructor(informer: Informer<KubeObject>, clock: Clock, saying: (object: KubeObject) => unknown) {
    this.#clock = clock;
    informer.on({
      update: (object, old) => {
        if (saying(object) !== saying(old)) this.#changedMs.set(objectKey(object), clock.monotonicMs());
      },
      delete: (object) => this.#changedMs.delete(objectKey(object)),
    });
  }

  /** Whether they have said the same for so long; true where no change was seen. */
  areOlderThan(ms: number, key: string): boolean {
    return this.#clock.monotonicMs() - (this.#changedMs.get(key) ?? Number.NEGATIVE_INFINITY) >= ms;
  }
}
