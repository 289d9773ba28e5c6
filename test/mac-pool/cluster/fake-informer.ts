import type { KubeObject } from "../../../src/kube/client/resource.ts";
import type { Handler } from "../../../src/kube/informer/informer.ts";

/** An informer that the test tells what to tell. */
export class FakeInformer<T extends KubeObject = KubeObject> {
  readonly objects = new Map<string, T>();
  readonly #handlers: Handler<T>[] = [];
  hasSynced = true;

  on(handler: Handler<T>): () => void {
    this.#handlers.push(handler);
    return () => {};
  }

  get = (name: string): T | undefined => this.objects.get(name);
  list = (): readonly T[] => [...this.objects.values()];

  set(object: T, created = true): T {
    const { name = "" } = object.metadata;
    const old = this.objects.get(name);
    this.objects.set(name, object);
    for (const handler of this.#handlers) {
      if (old === undefined) handler.add?.(object, { created });
      else handler.update?.(object, old);
    }
    return object;
  }

  delete(name: string): void {
    const object = this.objects.get(name);
    this.objects.delete(name);
    if (object !== undefined) for (const handler of this.#handlers) handler.delete?.(object, { final: true });
  }

  listed(): void {
    for (const handler of this.#handlers) handler.onRelist?.();
  }
}
