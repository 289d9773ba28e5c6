import type { Change } from "./store.ts";

/** Gets changes in their order. `old` and `object` are shared: read only. */
export interface Handler<T> {
  /**
   * `created`: the watch reported the creation itself, and the object is as it was created. Never with a selector: a watch
   * doesn't distinguish a creation from an object that begins to match.
   */
  add?(object: T, info: { readonly created: boolean }): void;
  update?(object: T, old: T): void;
  /** `final`: `object` is the state when it was deleted. Otherwise the deletion was missed, and it is the last known state. */
  delete?(object: T, info: { readonly final: boolean }): void;
  /** Everything is listed: of what happened since the watch before, changes follow, and what came and went is not told. */
  onRelist?(): void;
}

/** The handlers of one informer. If one throws, the others and the informer go on. */
export class HandlerSet<T> {
  readonly #handlers = new Set<Handler<T>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  add(handler: Handler<T>, existing: readonly T[]): () => void {
    for (const object of existing) {
      this.#call(() => handler.add?.(object, { created: false }));
    }
    this.#handlers.add(handler);
    return () => {
      this.#handlers.delete(handler);
    };
  }

  distribute(changes: readonly Change<T>[]): void {
    for (const change of changes) {
      for (const handler of this.#handlers) {
        this.#call(() => deliver(handler, change));
      }
    }
  }

  relisted(): void {
    for (const handler of this.#handlers) {
      this.#call(() => handler.onRelist?.());
    }
  }

  /** For the type checker an async function is a valid handler; its rejection must not end the process. */
  #call(deliver: () => unknown): void {
    try {
      const result = deliver();
      if (result instanceof Promise) {
        result.catch(this.#onError);
      }
    } catch (error) {
      this.#onError(error);
    }
  }
}

function deliver<T>(handler: Handler<T>, change: Change<T>): unknown {
  switch (change.type) {
    case "add":
      return handler.add?.(change.object, { created: change.created });
    case "update":
      return handler.update?.(change.object, change.old);
    case "delete":
      return handler.delete?.(change.object, { final: change.final });
  }
}
