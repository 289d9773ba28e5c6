import type { KubeObject } from "../../kube/client/resource.ts";
import { Informer } from "../../kube/informer/informer.ts";

/** Watches once somebody needs it. What nobody asks for is not watched. */
export class DemandedInformer<T extends KubeObject> extends Informer<T> {
  readonly #needed = Promise.withResolvers<void>();

  need(): void {
    this.#needed.resolve();
  }

  /** Watches, once that is needed, until the signal aborts. */
  override async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#needed.resolve();
    signal.addEventListener("abort", stop, { once: true });
    if (!signal.aborted) await this.#needed.promise;
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) await super.run(signal);
  }
}
