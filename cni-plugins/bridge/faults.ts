/** Collects the failures of work that goes on after a failure. The next call removes what is left. */

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
