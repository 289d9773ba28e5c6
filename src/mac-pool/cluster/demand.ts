/** Whether anybody needs a watch yet. What nobody asks for is not watched. */
export class Demand {
  readonly #needed = Promise.withResolvers<void>();

  need(): void {
    this.#needed.resolve();
  }

  /** Begins the watch once it is needed. Resolves when the watch has ended, or the signal aborts before that. */
  async run(watch: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#needed.resolve();
    signal.addEventListener("abort", stop, { once: true });
    if (!signal.aborted) await this.#needed.promise;
    signal.removeEventListener("abort", stop);
    if (!signal.aborted) await watch(signal);
  }
}
