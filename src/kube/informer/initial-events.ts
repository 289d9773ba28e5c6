import { ApiError } from "../client/api-error.ts";
import type { WatchEvent } from "../client/client.ts";
import { INITIAL_EVENTS_END } from "../client/query.ts";
import type { KubeObject } from "../client/resource.ts";
import type { Input } from "./reflector.ts";

/** Objects handed on at once. */
const BATCH = 500;

/** The initial events of a stream, gathered into what the reflector takes. One for each stream. */
export class InitialEvents<T extends KubeObject> {
  #batch: T[] = [];
  /** True once they are complete: what follows are ordinary events. */
  ended = false;
  /** Something came since this was last set to false. */
  active = false;

  /** Throws when the event shows that the server does not know of initial events. */
  take(event: WatchEvent<T>, transform: (object: T) => T): readonly Input<T>[] {
    this.active = true;
    switch (event.type) {
      case "BOOKMARK": {
        const { annotations, resourceVersion = "" } = event.object.metadata;
        if (annotations?.[INITIAL_EVENTS_END] !== "true") {
          throw noInitialEvents("a bookmark came before their end");
        }
        this.ended = true;
        return [...this.#flush(), { type: "initial-end", resourceVersion }];
      }
      case "DELETED":
        return [...this.#flush(), { type: "initial-removal", object: event.object }];
      default:
        this.#batch.push(transform(event.object));
        return this.#batch.length < BATCH ? [] : this.#flush();
    }
  }

  #flush(): Input<T>[] {
    const objects = this.#batch;
    this.#batch = [];
    return objects.length === 0 ? [] : [{ type: "initial-objects", objects }];
  }
}

/** As if the server had refused: servers that have no WatchList and do not say so are told by what they send. */
export function noInitialEvents(why: string): ApiError {
  return new ApiError({ status: 422, reason: "Invalid", message: `the server has no initial events: ${why}` });
}
