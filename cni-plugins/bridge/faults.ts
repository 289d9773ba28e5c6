/** Work that goes on after a failure: what is left goes with the next call. */

export class Faults {
  readonly #faults: unknown[] = [];

  attempt(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#faults.push(error);
    }
  }

  throwFirst(): void {
    if (this.#faults.length > 0) throw this.#faults[0];
  }
}
