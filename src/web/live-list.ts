import { effect, type ReadonlySignal, type Signal, signal, untracked } from "@preact/signals";
import { type Problem, watch } from "./client.ts";
import { isSignedOut, namespace, token } from "./session.ts";
import { problemFrom } from "./use-query.ts";

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 15_000;

/**
 * A list that follows the pool by server-sent events. It is cut while nobody looks at the page: a browser has six connections
 * to a host, which all tabs share.
 */
export class LiveList<T> {
  readonly #path: string;
  readonly #keyOf: (item: T) => string;
  readonly #items: Signal<ReadonlyMap<string, T> | undefined> = signal(undefined);
  readonly #problem: Signal<Problem | undefined> = signal(undefined);
  readonly #isLive = signal(false);
  readonly #partial: Signal<readonly string[]> = signal([]);
  /** Whose items these are. */
  #reader: readonly unknown[] | undefined;

  constructor(path: string, keyOf: (item: T) => string) {
    this.#path = path;
    this.#keyOf = keyOf;
  }

  /** By key; undefined until the first answer. */
  get items(): ReadonlySignal<ReadonlyMap<string, T> | undefined> {
    return this.#items;
  }

  get problem(): ReadonlySignal<Problem | undefined> {
    return this.#problem;
  }

  get isLive(): ReadonlySignal<boolean> {
    return this.#isLive;
  }

  /** Replicas whose part is missing. */
  get partial(): ReadonlySignal<readonly string[]> {
    return this.#partial;
  }

  /** Follows whenever the page is visible and the reader known, for another reader or namespace from the start. */
  start(isVisible: ReadonlySignal<boolean>): void {
    effect(() => {
      const reader = [token.value, namespace.value];
      if (isSignedOut.value) {
        untracked(() => this.#forget());
        return undefined;
      }
      if (!isVisible.value) return undefined;
      const stop = new AbortController();
      untracked(() => void this.#follow(stop.signal, reader));
      return () => {
        stop.abort();
        this.#isLive.value = false;
      };
    });
  }

  #forget(): void {
    this.#items.value = undefined;
    this.#partial.value = [];
    this.#problem.value = undefined;
  }

  async #follow(signal: AbortSignal, reader: readonly unknown[]): Promise<void> {
    if (this.#reader?.some((part, index) => part !== reader[index])) this.#forget();
    this.#reader = reader;
    for (let delayMs = FIRST_DELAY_MS; !signal.aborted; delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)) {
      let askedMs = 0;
      try {
        await this.#watch(signal, () => {
          delayMs = FIRST_DELAY_MS;
        });
      } catch (error) {
        if (signal.aborted) return;
        const problem = problemFrom(error);
        this.#problem.value = problem;
        askedMs = Math.min(problem.retryAfterMs, MAX_DELAY_MS);
      }
      if (signal.aborted) return;
      this.#isLive.value = false;
      await pause(Math.max(delayMs * (0.5 + Math.random() / 2), askedMs * (1 + Math.random() / 4)), signal);
    }
  }

  /** The stream begins with the list, so that list and changes are what one replica knows. */
  async #watch(signal: AbortSignal, onLive: () => void): Promise<void> {
    let listed: Map<string, T> | undefined;
    for await (const { type, object, partial = [] } of watch<T>(this.#path, signal)) {
      // What has arrived already may be another reader's.
      if (signal.aborted) return;
      if (type === "RESET") listed = new Map();
      else if (type === "BOOKMARK") {
        if (listed === undefined) continue;
        this.#items.value = listed;
        this.#partial.value = partial;
        listed = undefined;
        this.#problem.value = undefined;
        this.#isLive.value = true;
        onLive();
      } else if (object === undefined) continue;
      else if (listed === undefined) this.#apply(type, object);
      else listed.set(this.#keyOf(object), object);
    }
  }

  #apply(type: "ADDED" | "MODIFIED" | "DELETED", object: T): void {
    const items = new Map(this.#items.value);
    const key = this.#keyOf(object);
    if (type === "DELETED") items.delete(key);
    else items.set(key, object);
    this.#items.value = items;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}
