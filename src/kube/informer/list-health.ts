import { ApiError, isNotFound } from "../client/api-error.ts";
import type { Clock } from "../clock.ts";

export interface ListHealthOptions {
  readonly clock: Clock;
  /** Called when `isServed` changes. */
  readonly onServed?: (() => void) | undefined;
  /** Called when a list is refused, every time. */
  readonly onRefused?: (() => void) | undefined;
}

/** Whether the API server lists a kind, and for how long it has refused to. */
export class ListHealth {
  readonly #options: ListHealthOptions;
  #isServed = false;
  #fault: string | undefined;
  #refusedSinceMs: number | undefined;

  constructor(options: ListHealthOptions) {
    this.#options = options;
  }

  get isServed(): boolean {
    return this.#isServed;
  }

  /** Why the last list failed. Undefined after one that did not. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** For how long it has refused lists. 0 after one, while it does not serve the kind, and while it does not answer. */
  get refusedMs(): number {
    return this.#refusedSinceMs === undefined ? 0 : this.#options.clock.monotonicMs() - this.#refusedSinceMs;
  }

  listed(): void {
    this.#fault = undefined;
    this.#refusedSinceMs = undefined;
    this.#setServed(true);
  }

  absent(): void {
    this.#setServed(false);
  }

  failed(error: unknown): void {
    this.#fault = error instanceof Error ? error.message : String(error);
    if (!(error instanceof ApiError) || isNotFound(error)) {
      this.#refusedSinceMs = undefined;
      return;
    }
    this.#refusedSinceMs ??= this.#options.clock.monotonicMs();
    this.#options.onRefused?.();
  }

  #setServed(served: boolean): void {
    if (served === this.#isServed) return;
    this.#isServed = served;
    this.#options.onServed?.();
  }
}
