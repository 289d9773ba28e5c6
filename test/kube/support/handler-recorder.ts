import type { KubeObject } from "../../../src/kube/client/resource.ts";
import { type Handler, objectKey } from "../../../src/kube/informer/informer.ts";

/**
 * What a handler got, as lines such as `add default/a@5`; and whether it made sense: per object add, then updates,
 * then delete, and the old object of an update is the one it got before.
 */
export class HandlerRecorder<T extends KubeObject> implements Handler<T> {
  readonly lines: string[] = [];
  readonly contradictions: string[] = [];
  readonly #known = new Map<string, T>();

  add(object: T): void {
    this.#note("add", object);
    if (this.#known.has(objectKey(object))) {
      this.contradictions.push(`add of known ${objectKey(object)}`);
    }
    this.#known.set(objectKey(object), object);
  }

  update(object: T, old: T): void {
    this.#note("update", object);
    const known = this.#known.get(objectKey(object));
    if (known !== old || known.metadata.uid !== object.metadata.uid) {
      this.contradictions.push(`update of ${objectKey(object)} from a state that it did not get`);
    }
    this.#known.set(objectKey(object), object);
  }

  delete(object: T, { final }: { final: boolean }): void {
    this.#note(final ? "delete" : "missed-delete", object);
    if (this.#known.get(objectKey(object))?.metadata.uid !== object.metadata.uid) {
      this.contradictions.push(`delete of unknown ${objectKey(object)}`);
    }
    this.#known.delete(objectKey(object));
  }

  /** Keys with versions of what the handler believes to exist, sorted. */
  get believes(): string[] {
    return [...this.#known.values()].map(describeObject).sort();
  }

  #note(what: string, object: T): void {
    this.lines.push(`${what} ${describeObject(object)}`);
  }
}

export function describeObject(object: KubeObject): string {
  return `${objectKey(object)}@${object.metadata.resourceVersion}`;
}
