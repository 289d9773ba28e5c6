/** Collects the errors of work that goes on after an error. The next call removes what is left. */

export class ErrorCollector {
  readonly #errors: unknown[] = [];

  collect(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#errors.push(error);
    }
  }

  throwFirst(): void {
    if (this.#errors.length > 0) throw this.#errors[0];
  }
}
