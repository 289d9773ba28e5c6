import type { KubeObject } from "../../kube/client/resource.ts";
import type { Clock } from "../../kube/clock.ts";
import type { Informer } from "../../kube/informer/informer.ts";

/** Remembers when the labels of objects of one kind changed, as far as this process has seen it. */
export class LabelChanges {
  readonly #changedMs = new Map<string, number>();
  readonly #clock: Clock;

  constructor(informer: Informer<KubeObject>, clock: Clock) {
    this.#clock = clock;
    informer.on({
      update: ({ metadata: { name = "", labels } }, old) => {
        if (JSON.stringify(labels) !== JSON.stringify(old.metadata.labels))
          this.#changedMs.set(name, clock.monotonicMs());
      },
      delete: ({ metadata: { name = "" } }) => this.#changedMs.delete(name),
    });
  }

  /** Whether they have stayed as they are for so long; true where no change was seen. */
  areOlderThan(ms: number, name: string): boolean {
    return this.#clock.monotonicMs() - (this.#changedMs.get(name) ?? Number.NEGATIVE_INFINITY) >= ms;
  }
}
